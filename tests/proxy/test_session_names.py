"""The names that clients give their sessions."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from streamviz.core.json_value import JsonObject
from streamviz.proxy.session_names import TABLE, Helper, helper_of, name_of
from tests.services import ROOT

UUID = "54c1eb09-bc4c-4d2f-98eb-6d2ab2d5e2fe"


def _name(headers: Mapping[bytes, str] | None = None, **request: object) -> str:
    return name_of(lambda name: (headers or {}).get(name, ""), request)


@pytest.mark.parametrize(
    "header",
    [
        b"x-session-id",
        b"x-claude-code-session-id",
        b"session-id",
        b"x-opencode-session",
        b"x-session-affinity",
        b"x-affinity",
    ],
)
def test_a_header_names_the_session(header: bytes) -> None:
    assert _name({header: UUID}) == UUID


@pytest.mark.parametrize(
    "request_",
    [
        {"metadata": {"session_id": UUID}},
        {"metadata": {"user_id": f"user_{'0' * 64}_account__session_{UUID}"}},
        {"metadata": {"user_id": f"user_{'0' * 64}_account_{UUID[::-1]}_session_{UUID}"}},
        {"metadata": {"user_id": json.dumps({"device_id": "d", "account_uuid": "", "session_id": UUID})}},
        {"client_metadata": {"session_id": UUID}},
        {"conversation": UUID},
        {"conversation": {"id": UUID}},
        {"prompt_cache_key": UUID},
    ],
    ids=lambda request: next(iter(request)),
)
def test_a_field_of_the_request_names_the_session(request_: JsonObject) -> None:
    assert _name(**request_) == UUID


def test_each_row_of_the_table_goes_before_those_behind_it() -> None:
    """All are given at first, then removed one after another."""
    headers = {
        b"x-parent-session-id": "opencode's parent",
        b"x-session-id": "ours",
        b"x-claude-code-session-id": "claude code's",
        b"session-id": "codex's",
        b"x-opencode-session": "opencode's",
        b"x-session-affinity": "opencode's other",
        b"x-affinity": "8b657757-5519-fcbd-4a31-2a120c7aefcf",
    }
    fields: dict[str, Any] = {
        "metadata": {"session_id": "anybody's", "user_id": json.dumps({"session_id": "claude code's older"})},
        "client_metadata": {"session_id": "codex's other"},
        "conversation": {"id": "openai's"},
        "prompt_cache_key": UUID,
    }
    found = []
    for header in list(headers):
        found.append(_name(headers, **fields))
        del headers[header]
    for name in ("metadata", "metadata", "client_metadata", "conversation", "prompt_cache_key"):
        found.append(_name(**fields))
        if name == "metadata" and "session_id" in fields[name]:
            del fields[name]["session_id"]
        else:
            del fields[name]
    assert (len(set(found)), len(found)) == (len(TABLE), len(TABLE))
    assert found[:2] == ["opencode's parent", "ours"]
    assert found[-1] == UUID
    assert _name(headers, **fields) == ""


def test_the_table_is_documented_as_it_is() -> None:
    rows = "".join(f"| {row.place} | {row.whose} |\n" for row in TABLE)
    assert rows in (ROOT / "docs" / "clients.md").read_text()


def test_a_session_of_codexs_is_that_of_all_its_agents() -> None:
    root, child = UUID, UUID[::-1]
    assert _name({b"session-id": root, b"thread-id": root}) == root
    assert _name({b"session-id": root, b"thread-id": child, b"x-codex-parent-thread-id": root}) == root
    older = {b"session-id": child, b"x-codex-parent-thread-id": root, b"x-openai-subagent": "review"}
    assert _name(older) == root
    assert helper_of(lambda name: older.get(name, ""), root) == Helper(child, "")


def test_a_sub_agent_says_who_it_is_and_who_called_it() -> None:
    codex = {b"session-id": UUID, b"thread-id": "t2", b"x-codex-parent-thread-id": "t1"}
    opencode = {b"x-session-affinity": "ses_2", b"x-parent-session-id": UUID}
    claude_code = {b"x-claude-code-agent-id": "a2", b"x-claude-code-parent-agent-id": "a1"}
    assert helper_of(lambda name: codex.get(name, ""), UUID) == Helper("t2", "t1")
    assert helper_of(lambda name: opencode.get(name, ""), UUID) == Helper("ses_2", "")
    assert helper_of(lambda name: claude_code.get(name, ""), UUID) == Helper("a2", "a1")
    assert helper_of(lambda _: "", UUID) is None


@pytest.mark.parametrize("key", ["support-bot-v2", "my_app:prompts:2026-11-23", "thread_17", "a" * 40, "1" * 40])
def test_a_cache_or_an_affinity_that_many_may_share_names_no_session(key: str) -> None:
    assert _name(prompt_cache_key=key) == ""
    assert _name({b"x-affinity": key}) == ""


@pytest.mark.parametrize("key", [UUID, f"chat-{UUID}", "ses_4f1c2ba0affe1Ab3dEf6hIj9kL", "0123456789abcdef01234567"])
def test_a_cache_of_one_conversation_names_it(key: str) -> None:
    assert _name(prompt_cache_key=key) == key


def test_kimi_gives_its_session_the_same_name_in_each_format() -> None:
    name = f"session_{UUID}"
    assert _name(prompt_cache_key=name) == name
    assert _name(metadata={"user_id": name}) == name


def test_headers_go_before_fields_and_each_before_those_behind_it() -> None:
    fields: JsonObject = {"metadata": {"session_id": "b"}, "prompt_cache_key": "c"}
    assert _name({b"session-id": "a"}, **fields) == "a"
    assert _name({b"session-id": "a", b"x-session-id": "ours"}, **fields) == "ours"
    assert _name(**fields) == "b"


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"metadata": None},
        {"metadata": {"user_id": "alice"}},
        {"metadata": {"user_id": "{not json"}},
        {"metadata": {"user_id": '{"session_id": 7}'}},
        {"metadata": {"user_id": "[" * 5_000}},
        {"metadata": {"user_id": json.dumps({"session_id": UUID, "a": [{}] * 5_000})}},
        {"metadata": {"user_id": '{"a":' * 5_000}},
        {"metadata": {"session_id": ["x"]}, "client_metadata": "x", "conversation": [1], "prompt_cache_key": 3},
        {"prompt_cache_key": "  "},
    ],
    ids=str,
)
def test_what_is_no_name_is_none(request_: JsonObject) -> None:
    assert _name({b"x-session-id": " "}, **request_) == ""
