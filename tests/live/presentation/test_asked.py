"""The request, shown with its answer."""

import json
from typing import Any
from uuid import UUID

import pytest

from streamviz.live.presentation.asked import Asked, asked_of
from streamviz.live.presentation.stream_views import view_of
from streamviz.records.entries import StreamEntries
from tests.records.support import closed, opened

ID = UUID(int=1)
CALL = {"id": "c1", "type": "function", "function": {"name": "run_shell", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "First"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "<b>ok</b>"},
    {"role": "user", "content": "Second"},
]
TOOLS = [{"type": "function", "function": {"name": "run_shell", "parameters": {}}}]


def asked(body: object, wire_format: str = "openai_chat", **changes: Any) -> Asked:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    entries = StreamEntries(opened(ID, wire_format=wire_format, **changes), closed(ID), [], "", None)
    return asked_of(view_of(entries), raw)


def test_what_was_asked_is_what_came_after_the_models_last_words() -> None:
    found = asked({"model": "m", "messages": CHAT, "tools": TOOLS})
    assert [(part.kind, part.title, part.text.beginning) for part in found.parts] == [
        ("tool_result", "run_shell", "<b>ok</b>"),
        ("text", "", "Second"),
    ]
    assert found.hidden == 2
    assert found.offered
    assert (found.offered.system.beginning, found.offered.tools) == ("Be brief.", ["run_shell"])


def test_a_result_is_named_by_its_call_in_the_other_formats() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "search", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "found"}
    messages = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    assert [part.title for part in asked({"messages": messages}, "anthropic_messages").parts] == ["search"]
    items = [
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "seen"},
    ]
    assert [part.title for part in asked({"input": items}, "openai_responses").parts] == ["look"]


@pytest.mark.parametrize(
    ("body", "why"),
    [(b"", "not kept"), (b"[", "not a request of this format"), (b" " * 5_000_000, "too large to show here")],
    ids=["none", "broken", "long"],
)
def test_it_says_why_there_is_nothing(body: bytes, why: str) -> None:
    assert (asked(body).parts, asked(body).why) == ([], why)


def test_its_kept_headers_come_with_the_user_agent() -> None:
    found = asked({}, user_agent="agent/1", request_headers={"anthropic-beta": "b"})
    assert found.headers == {"user-agent": "agent/1", "anthropic-beta": "b"}
