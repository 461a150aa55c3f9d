"""With a policy in force, members that a format does not have are left out of a stream, and the rest goes on."""

import asyncio
import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.context import OURSELVES, UPSTREAM
from streamviz.core.verdicts import Mode
from streamviz.core.wire import AGGREGATORS, formats
from streamviz.records.ids import uuid7
from streamviz.records.recorder import FramesSent
from tests.core.support import Run, active, deny_names, parse

SAID = "nobody reads this"
FORMATS = {
    each.name: each
    for each in (formats.OPENAI_CHAT, formats.ANTHROPIC_MESSAGES, formats.OPENAI_RESPONSES, formats.GEMINI)
}


def chat(delta: Any, **choice: Any) -> Any:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **choice}]}


def text_block(block: Any, delta: Any) -> list[Any]:
    return [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", **block}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi", **delta}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def message_item(**members: Any) -> list[Any]:
    item = {"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    return [{"type": "response.output_item.done", "output_index": 0, "item": {**item, **members}}]


def answer(part: Any, **candidate: Any) -> list[Any]:
    return [{"candidates": [{"content": {"parts": [{"text": "Hi", **part}], "role": "model"}, **candidate}]}]


def run(format: str, payloads: list[Any], mode: Mode = Mode.ENFORCE) -> tuple[Run, bytes]:
    events = (f"event: {each['type']}\n" if "type" in each else "" for each in payloads)
    raw = "".join(f"{event}data: {json.dumps(each)}\n\n" for event, each in zip(events, payloads, strict=True)).encode()
    aggregator = AGGREGATORS[format]()
    made = Run([active(deny_names("never"), mode=mode)], FORMATS[format].composer(aggregator.head), aggregator)
    asyncio.run(made.finish(parse(raw)))
    return made, raw


STREAMS = [
    ("openai_chat", [chat({"content": "Hi"}, raw_output={"completion": SAID})]),  # Fireworks
    ("openai_chat", [chat({"content": "Hi", "tool_plan": SAID})]),  # Cohere
    (
        "openai_chat",
        [chat({"content": "Hi", "extra_content": {"google": {"grounding": [SAID]}}})],
    ),
    ("openai_chat", [chat({"content": "Hi", "graph_data": {"sources": [{"snippet": SAID}]}})]),  # Writer
    ("openai_chat", [chat({"content": "Hi", "tool": {"name": "run_shell", "arguments": SAID}})]),
    ("anthropic_messages", text_block({"note": SAID}, {})),
    ("anthropic_messages", text_block({}, {"note": SAID})),
    ("anthropic_messages", [*text_block({}, {})[:-1], {"type": "message_stop", "amazon-bedrock-trace": {"x": SAID}}]),
    ("openai_responses", message_item(created_by={"agent": {"type": "agent_id", "name": SAID}})),  # Azure
    ("openai_responses", [{"type": "response.new_thing", "note": SAID}, *message_item()]),
    ("gemini", answer({}, newThing={"note": SAID})),
    ("gemini", answer({"newThing": SAID})),
]


@pytest.mark.parametrize(("format", "payloads"), STREAMS)
def test_a_stream_goes_on_without_what_is_left_out(format: str, payloads: list[Any]) -> None:
    made, raw = run(format, payloads)
    assert (made.context.state.contradiction, made.context.state.failure) == ("", None)
    assert SAID.encode() not in made.tape
    assert b"run_shell" not in made.tape
    again, _ = run(format, [json.loads(each.data) for each in parse(made.tape) if each.data])
    assert [block.text for block in again.context.state.blocks] == ["Hi"]
    assert again.tape.count(b"data:") == raw.count(b"data:")


@pytest.mark.parametrize(("format", "payloads"), STREAMS)
def test_the_record_has_what_the_client_was_sent(format: str, payloads: list[Any]) -> None:
    frames = run(format, payloads)[0].context.outbox
    sent = FramesSent.of(uuid7(), 0, 0, frames)
    cut = [frame for frame in frames if frame.origin == OURSELVES]
    assert cut
    assert sent.made == [(OURSELVES, frame.raw) for frame in cut]
    assert [seq is None for seq in sent.seqs] == [frame.origin != UPSTREAM for frame in frames]


@pytest.mark.parametrize(("format", "payloads"), STREAMS)
def test_a_policy_in_shadow_leaves_nothing_out(format: str, payloads: list[Any]) -> None:
    made, raw = run(format, payloads, Mode.SHADOW)
    assert made.tape == raw


@pytest.mark.parametrize(
    ("format", "payloads"),
    [
        ("openai_chat", [chat({"content": "Hi", "input": SAID})]),
        ("openai_chat", [chat({"content": "Hi", "arguments": {"command": SAID}})]),
        ("anthropic_messages", text_block({"name": SAID}, {})),
        ("openai_responses", message_item(arguments=SAID)),
        ("gemini", answer({"args": {"command": SAID}})),
    ],
)
def test_what_may_be_a_call_ends_the_stream(format: str, payloads: list[Any]) -> None:
    made, _ = run(format, payloads)
    assert made.context.state.contradiction
    assert SAID.encode() not in made.tape


def test_what_is_left_out_is_told_to_policies_all_the_same() -> None:
    aggregator = AGGREGATORS["openai_chat"]()
    data = json.dumps(chat({"content": "Hi", "tool_plan": SAID})).encode()
    [chunk] = parse(b"data: " + data + b"\n\n")
    aggregator.prepare(chunk, leave_out=True)
    left = aggregator.prepared(chunk)
    aggregator.aggregate(left)
    assert left.is_cut
    assert SAID in [told.text for told in aggregator.state.beside]


def test_a_whole_answer_goes_on_without_what_is_left_out() -> None:
    message = {"role": "assistant", "content": "Hi", "tool_plan": SAID}
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    raw = json.dumps(body).encode()
    aggregator = AGGREGATORS["openai_chat"]()
    made = Run([active(deny_names("never"))], formats.OPENAI_CHAT.body_composer(aggregator.body), aggregator)
    asyncio.run(made.finish([Chunk(0, 0, raw, raw)]))
    del message["tool_plan"]
    assert json.loads(made.tape) == body
    assert aggregator.body == body


def written(format: str, payloads: list[Any], replace: tuple[bytes, bytes], mode: Mode = Mode.ENFORCE) -> bytes:
    """What the client gets of a stream in which some bytes are replaced."""
    aggregator = AGGREGATORS[format]()
    made = Run([active(deny_names("never"), mode=mode)], FORMATS[format].composer(aggregator.head), aggregator)
    raw = b"".join(f"data: {json.dumps(each)}\n\n".encode().replace(*replace) for each in payloads)
    asyncio.run(made.finish(parse(raw)))
    assert not made.context.state.contradiction
    return made.tape


SAYING = [
    ("openai_chat", [chat({"content": "Hi"})]),
    ("anthropic_messages", text_block({}, {})),
    ("openai_responses", message_item()),
    ("gemini", answer({})),
]
READ_TWO_WAYS = {
    "a name that comes twice": (b'"Hi"', b'"forbidden", "%b": "Hi"'),
    "half a surrogate pair": (b'"Hi"', b'"Hi\\ud83d"'),
    "what is no UTF-8": (b'"Hi"', b'"Hi\xff"'),
}


@pytest.mark.parametrize("what", READ_TWO_WAYS)
@pytest.mark.parametrize(("format", "payloads"), SAYING)
def test_what_clients_read_differently_is_written_as_it_was_read(format: str, payloads: list[Any], what: str) -> None:
    """Codex skips an event with either, Go joins two members of one name, and JavaScript two halves of a pair."""
    text, by = READ_TWO_WAYS[what]
    by = by.replace(b"%b", b"content" if format == "openai_chat" else b"text")
    assert by in written(format, payloads, (text, by), Mode.SHADOW)
    tape = written(format, payloads, (text, by))
    assert b'"Hi' in tape
    assert not any(odd in tape for odd in (b"forbidden", b"\\ud83d", b"\xff"))


def test_a_whole_answer_in_which_a_name_comes_twice_is_written_as_it_was_read() -> None:
    raw = b'{"choices":[{"index":0,"message":{"content":"forbidden"},"message":{"role":"assistant","content":"Hi"}}]}'
    aggregator = AGGREGATORS["openai_chat"]()
    made = Run([active(deny_names("never"))], formats.OPENAI_CHAT.body_composer(aggregator.body), aggregator)
    asyncio.run(made.finish([Chunk(0, 0, raw, raw)]))
    assert made.tape == b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"}}]}'
