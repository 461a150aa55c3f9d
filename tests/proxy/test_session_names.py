"""What clients call their sessions."""

import json
from collections.abc import Mapping

import pytest

from streamviz.core.json_value import JsonObject
from streamviz.proxy.session_names import name_of

UUID = "54c1eb09-bc4c-4d2f-98eb-6d2ab2d5e2fe"


def _name(headers: Mapping[bytes, str] | None = None, **request: object) -> str:
    return name_of(lambda name: (headers or {}).get(name, ""), request)


@pytest.mark.parametrize(
    "header",
    [b"x-session-id", b"x-claude-code-session-id", b"session-id", b"x-opencode-session", b"x-session-affinity"],
)
def test_a_header_names_it(header: bytes) -> None:
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
def test_a_field_names_it(request_: JsonObject) -> None:
    assert _name(**request_) == UUID


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
