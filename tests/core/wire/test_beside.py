"""Text, or a call, in a member that no format has: with a policy in force, the stream ends before it."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.json_value import as_list, as_object
from streamviz.core.wire import AGGREGATORS
from streamviz.core.wire.beside import has_text
from tests.core.support import parse
from tests.recordings import recorded

TEXT = "to be seen by nobody"
CALL = {"name": "run_shell", "input": "ls -l"}

FORMATS = ("openai_chat", "anthropic_messages", "openai_responses")


def contradiction(format: str, *payloads: object) -> str:
    aggregator = AGGREGATORS[format]()
    for number, payload in enumerate(payloads):
        data = json.dumps(payload).encode()
        aggregator.aggregate(Chunk(number, 0, data, data))
    return aggregator.state.contradiction


def chat(delta: Any, **choice: Any) -> Any:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **choice}]}


def start(**block: Any) -> Any:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def item(**members: Any) -> Any:
    return {"type": "response.output_item.added", "output_index": 0, "item": members}


def part(**members: Any) -> Any:
    return item(type="message", id="m", role="assistant", content=[members])


PLACES: list[tuple[str, Any]] = [
    ("openai_chat", lambda value: chat({"content": "a"}, transcript=value)),
    ("openai_chat", lambda value: chat({"content": "a", "note": value})),
    ("openai_chat", lambda value: chat({"role": [value]})),
    ("openai_chat", lambda value: chat({}, finish_reason=[value])),
    ("openai_chat", lambda value: chat(value)),
    ("openai_chat", lambda value: chat({"tool_calls": [{"index": 0, "payload": value}]})),
    ("openai_chat", lambda value: chat({"tool_calls": [{"index": 0, "function": {"name": "ls", "input": value}}]})),
    ("openai_chat", lambda value: chat({"tool_calls": [value]})),
    ("openai_chat", lambda value: chat({"content": [{"type": "text", "text": "a", "content": value}]})),
    ("openai_chat", lambda value: chat({"reasoning_details": [{"type": "reasoning.text", "content": value}]})),
    ("openai_chat", lambda value: chat({"audio": {"input": value}})),
    ("openai_chat", lambda value: chat({"content": "a"}, logprobs={"content": [{"token": "a", "text": value}]})),
    ("openai_chat", lambda value: {"choices": [{"message": {"content": "a", "payload": value}}]}),
    ("openai_chat", lambda value: {"choices": [value]}),
    ("anthropic_messages", lambda value: start(type="text", text="", transcript=value)),
    ("anthropic_messages", lambda value: start(type="tool_use", id="t", name="ls", input={}, payload=value)),
    ("anthropic_messages", lambda value: start(type={"value": "text"}, text=value)),
    (
        "anthropic_messages",
        lambda value: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "x": value}},
    ),
    ("anthropic_messages", lambda value: {"type": "content_block_delta", "index": 0, "delta": [value]}),
    ("anthropic_messages", lambda value: {"type": "brand_new", "delta": value}),
    ("anthropic_messages", lambda value: {"type": "ping", "text": value}),
    ("anthropic_messages", lambda value: {"type": "message", "content": [[value]]}),
    ("anthropic_messages", lambda value: {"type": "message", "content": [], "text": value}),
    ("openai_responses", lambda value: item(type="function_call", call_id="c", name="ls", arguments="", text=value)),
    ("openai_responses", lambda value: item(type="message", id="m", text=value)),
    ("openai_responses", lambda value: item(id="m", text=value)),
    ("openai_responses", lambda value: part(type="output_text", text="", thinking=value)),
    ("openai_responses", lambda value: part(text=value)),
    ("openai_responses", lambda value: {"type": "response.brand_new", "payload": value}),
    ("openai_responses", lambda value: {"type": "response.refusal.done", "refusal": "", "item": value}),
    ("openai_responses", lambda value: {"object": "response", "output": [[value]]}),
    ("openai_chat", lambda value: chat({"content": [{"type": "mcp_tool_use", "custom": value}]})),
    ("openai_chat", lambda value: chat({"images": {"value": value}})),
    ("openai_chat", lambda value: chat({"images": [{"type": "image_url", "image_url": {"url": "u", "note": value}}]})),
    ("openai_chat", lambda value: chat({"content": [[value]]})),
    ("openai_chat", lambda value: chat({"content": [{"type": "text", "text": {"value": value}}]})),
    ("openai_chat", lambda value: chat({"content": [{"type": "text", "text": [{"text": {"value": value}}]}]})),
    ("openai_chat", lambda value: chat({"content": [{"type": "text", "text": "a", "thinking": value}]})),
    ("openai_chat", lambda value: chat({"content": [{"type": "thinking", "thinking": "a", "text": value}]})),
    ("openai_chat", lambda value: chat({"content": [{"type": "thinking", "thinking": [{"text": "a", "x": value}]}]})),
    ("openai_chat", lambda value: chat({"content": [{"type": "image_url", "image_url": {"note": value}}]})),
    ("openai_chat", lambda value: chat({"audio": {"transcript": [value]}})),
    ("openai_responses", lambda value: {"type": "response.completed", "response": [value]}),
    ("openai_responses", lambda value: {"type": "response.completed", "response": {"text": {"output": value}}}),
    ("anthropic_messages", lambda value: start(type="output_text", thinking=value)),
    ("anthropic_messages", lambda value: {"type": "message", "content": [{"type": "reasoning_text", "text": value}]}),
    ("openai_responses", lambda value: item(type="summary_text", summary=[value])),
    ("openai_responses", lambda value: item(type="tool_result", text=value)),
    ("anthropic_messages", lambda value: start(type="look_tool_result", text=value)),
    ("openai_responses", lambda value: item(type="reasoning", encrypted_content={"of": value})),
    ("anthropic_messages", lambda value: start(type="redacted_thinking", data={"of": value})),
    ("anthropic_messages", lambda value: start(type="thinking", thinking="", signature={"of": value})),
]


SAID: list[Any] = [TEXT, CALL, [[TEXT]], {"a": {"b": TEXT}}, {TEXT: 1}]
WORDS: list[Any] = ["stop", "2026-01-01T00:00:00Z", "gpt-5/a:b", 5, None, True, {"severity": "safe"}]


@pytest.mark.parametrize(("format", "put"), PLACES)
def test_what_is_said_where_nobody_reads_contradicts(format: str, put: Any) -> None:
    assert [value for value in SAID if not contradiction(format, put(value))] == []


@pytest.mark.parametrize("role", [{}, [], 5, False])
def test_a_role_of_another_type_hides_nothing(role: object) -> None:
    puts = [put for format, put in PLACES if format == "openai_chat"]
    deltas = [as_object(as_object(as_list(put(TEXT)["choices"])[0]).get("delta")) for put in puts]
    found = [delta for delta in deltas if "role" not in delta and contradiction("openai_chat", chat(delta))]
    assert len(found) > 12
    assert all(contradiction("openai_chat", chat({**delta, "role": role})) for delta in found)


@pytest.mark.parametrize(
    ("format", "put"),
    [
        (format, put)
        for format, put in PLACES
        if "role" not in put.__code__.co_consts and not put(None).get("type", "").endswith("delta")
    ],
)
def test_a_word_or_a_number_denies_nothing(format: str, put: Any) -> None:
    assert [value for value in WORDS if "where its format has none" in contradiction(format, put(value))] == []


def test_a_text_that_some_providers_say_once_more_denies_nothing() -> None:
    assert not contradiction("openai_chat", chat({"content": "All is well."}, text="All is well."))
    assert contradiction("openai_chat", chat({"content": "All is well."}, text="All is lost."))


@pytest.mark.parametrize("value", [[TEXT], [[TEXT]], [CALL]], ids=str)
@pytest.mark.parametrize(
    ("format", "put"),
    [
        ("openai_chat", lambda value: chat({"provider_specific_fields": value})),
        ("anthropic_messages", lambda value: start(type="text", text=value)),
        ("anthropic_messages", lambda value: start(type="thinking", thinking=value, signature="")),
        ("anthropic_messages", lambda value: {"type": "message", "content": [{"type": "text", "text": value}]}),
        ("openai_responses", lambda value: {"object": "response", "output": [], "text": value}),
        (
            "anthropic_messages",
            lambda value: {"type": "content_block_delta", "index": 0, "delta": {"type": "tool_result", "text": value}},
        ),
    ],
)
def test_what_has_another_type_than_its_format_has_contradicts(format: str, put: Any, value: Any) -> None:
    assert contradiction(format, put(value))


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        ("openai_chat", chat({"tool_calls": {"type": "text", "text": [CALL]}})),
        ("openai_chat", {**chat({"content": "All is well."}), "created": [TEXT]}),
        ("anthropic_messages", {"type": "message", "content": [], "model": {"a": TEXT}}),
        ("openai_responses", {"object": "response", "output": [], "created_at": [CALL]}),
        ("openai_responses", item(type="compaction", id="c", summary=[{"type": "compaction", "text": TEXT}])),
        ("anthropic_messages", {"type": "message_start", "message": TEXT}),
        ("anthropic_messages", {"type": "message_start", "message": {"id": "m", "content": {"text": TEXT}}}),
        ("anthropic_messages", {"type": "message", "content": {"text": TEXT}}),
        ("anthropic_messages", start(type="tool_use", id="t", name={"command": TEXT}, input={})),
        ("anthropic_messages", start(type="tool_result", id="t", name="ls", input={})),
        ("anthropic_messages", {"type": "message_delta", "delta": {"stop_reason": "tool_use", "part": CALL}}),
        ("openai_chat", {"choices": json.dumps([CALL])}),
        ("openai_chat", chat({"provider_specific_fields": CALL})),
        ("openai_chat", chat({"reasoning_details": CALL})),
        ("openai_chat", chat({"reasoning_content": {**CALL, "type": "tool_result"}})),
        ("openai_chat", chat({"thinking_blocks": [[CALL]]})),
        ("openai_chat", chat({"provider_specific_fields": {"thinking_blocks": [{"type": "thinking", "input": TEXT}]}})),
        ("openai_chat", {"choices": [{"message": {"content": "a", "name": TEXT}}]}),
        ("openai_responses", {"type": "response.output_text.delta", "output_index": 0, "delta": {"input": CALL}}),
        ("openai_responses", {"object": "response", "output": {"type": "input_text", "url": TEXT}}),
        ("openai_responses", {"object": "response", "output": [], "output_text": {"a": TEXT}}),
        ("openai_responses", {"object": "response", "output": [], "reasoning": [CALL]}),
        ("openai_responses", item(type="reasoning", id="r", summary=[], encrypted_content=TEXT)),
        ("openai_responses", item(type="compaction", id="c", name="bash", arguments="{}")),
        (
            "openai_chat",
            chat({"tool_calls": [{"index": 0, "id": "c", "provider_specific_fields": {"arguments": TEXT}}]}),
        ),
        ("openai_chat", chat({"tool_calls": [{"index": 0, "id": "c", "extra_content": {"google": {"note": TEXT}}}]})),
        ("openai_responses", {"type": "response.created", "response": {"output": [], "output_text": TEXT}}),
        ("openai_responses", item(type="message", id="m", content={"text": [{"type": "output_text", "text": TEXT}]})),
    ],
)
def test_what_is_no_list_or_message_where_one_belongs_contradicts(format: str, payload: Any) -> None:
    assert contradiction(format, payload)


@pytest.mark.parametrize("text", ["", "a", "call_1", "functions.ls:0", "eyJh+/=", "safe"])
def test_a_word_is_no_text(text: str) -> None:
    assert not has_text(text)


@pytest.mark.parametrize("text", ["a b", "jane@example.com", "{}", "rm -rf /", "a\n", "é!"])
def test_what_is_more_than_a_word_is_text(text: str) -> None:
    assert has_text(text)


@pytest.mark.parametrize("format", FORMATS)
def test_no_recorded_stream_says_anything_beside(format: str) -> None:
    for file in recorded(format):
        aggregator = AGGREGATORS[format]()
        for chunk in parse(file.read_bytes()):
            aggregator.aggregate(chunk)
        assert "where its format has none" not in aggregator.state.contradiction, file.name


def test_the_error_that_ends_such_a_stream_does_not_repeat_it() -> None:
    aggregator = AGGREGATORS["openai_responses"]()
    response = {"id": "r", "object": "response", "output": [], "text": [CALL], "status": "completed"}
    data = json.dumps({"type": "response.completed", "response": response}).encode()
    aggregator.aggregate(Chunk(0, 0, data, data))
    assert aggregator.head == {"id": "r", "object": "response", "status": "completed"}


@pytest.mark.parametrize(
    ("format", "events"),
    [
        ("anthropic_messages", [("SECRET-NAME", {"type": "message_start"})]),
        ("openai_responses", [("response.SECRET-NAME", {"type": "response.in_progress"})]),
        (
            "openai_responses",
            [
                ("", item(type="function_call", id="f", call_id="c", name="ls", arguments="")),
                ("", {"type": "response.output_item.done", "output_index": 0,
                      "item": {"type": "function_call", "id": "f", "call_id": "c", "name": "SECRET-NAME"}}),
            ],
        ),
        (
            "openai_responses",
            [
                ("", item(type="SECRET-NAME_call", id="f", call_id="c", name="ls", arguments="")),
                ("", {"type": "response.output_item.done", "output_index": 0,
                      "item": {"type": "function_call", "id": "f", "call_id": "c", "name": "ls"}}),
            ],
        ),
    ],
)  # fmt: skip
def test_what_contradicts_is_not_quoted(format: str, events: list[tuple[str, Any]]) -> None:
    aggregator = AGGREGATORS[format]()
    for name, payload in events:
        data = json.dumps(payload).encode()
        aggregator.aggregate(Chunk(0, 0, b"data: " + data + b"\n\n", data, name))
    assert aggregator.state.contradiction
    assert "SECRET" not in aggregator.state.contradiction


MESSAGE: dict[str, Any] = {"type": "message", "id": "m", "role": "assistant"}
SHOWN: dict[str, tuple[str, Any]] = {
    "choices that are an object": (
        "openai_chat",
        lambda text: {"choices": {"0": {"index": 0, "delta": {"content": text}}}},
    ),
    "candidates that are an object": (
        "gemini",
        lambda text: {"candidates": {"0": {"content": {"parts": [{"text": text}]}}}},
    ),
    "parts that are an object": (
        "gemini",
        lambda text: {"candidates": [{"content": {"parts": {"0": {"text": text}}}}]},
    ),
    "content that is an object": (
        "anthropic_messages",
        lambda text: {**MESSAGE, "content": {"0": {"type": "text", "text": text}}},
    ),
    "a block's text that is a list": ("anthropic_messages", lambda text: start(type="text", text=[text])),
    "an output that is an object": (
        "openai_responses",
        lambda text: {"output": {"0": {**MESSAGE, "content": [{"type": "output_text", "text": text}]}}},
    ),
    "a message's content that is an object": (
        "openai_responses",
        lambda text: item(**MESSAGE, content={"0": {"type": "output_text", "text": text}}),
    ),
    "a part's text that is a list": ("openai_responses", lambda text: part(type="output_text", text=[text])),
    "an output_text that is a list": ("openai_responses", lambda text: {"output": [], "output_text": [text]}),
}


@pytest.mark.parametrize("shape", SHOWN)
def test_not_even_a_word_goes_out_where_javascript_shows_what_is_no_text(shape: str) -> None:
    format, put = SHOWN[shape]
    assert all("where its format has none" in contradiction(format, put(said)) for said in ("word", 4111111111111111))
