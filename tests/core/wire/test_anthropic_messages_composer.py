"""Writing Anthropic's messages: the result of policies on a stream and on a whole message."""

import json
from typing import Any

import pytest

from streamviz.core.chain import PolicyChain
from streamviz.core.errors import RequestError
from streamviz.core.events import (
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
)
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import StreamProcessor
from streamviz.core.wire import ANTHROPIC_MESSAGES
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.anthropic_messages_body_composer import AnthropicMessagesBodyComposer
from streamviz.core.wire.anthropic_messages_composer import AnthropicMessagesComposer
from streamviz.core.wire.anthropic_messages_writer import error_body
from streamviz.policies import build
from tests.core.support import Run, active, chunks, deny_names, parse, told
from tests.core.wire import legal
from tests.core.wire.official import payloads
from tests.core.wire.test_anthropic_messages import begin, finish, grow, start, stop, text
from tests.recordings import recorded

STOP = {"type": "message_stop"}


def call(index: int, name: str) -> list[dict[str, Any]]:
    arguments = grow(index, type="input_json_delta", partial_json='{"a":1}')
    return [start(index, type="tool_use", id=f"t{index}", name=name, input={}), arguments, stop(index)]


async def through(stream: Any, *names: str, body: Any = None) -> bytes:
    """The client's tape with calls of these names denied."""
    aggregator = AnthropicMessagesAggregator()
    composer = AnthropicMessagesComposer(aggregator.head) if body is None else AnthropicMessagesBodyComposer(body)
    context = ChainContext("run", lambda: 0)
    processor = StreamProcessor(PolicyChain([active(deny_names(*names))], composer).on_chunk, aggregator)
    await processor.take(stream, context)
    await processor.end(context)
    return b"".join(frame.raw for frame in context.outbox)


def read(tape: bytes) -> AnthropicMessagesAggregator:
    aggregator = AnthropicMessagesAggregator()
    for chunk in parse(tape):
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator


async def test_what_is_allowed_goes_out_as_it_came() -> None:
    stream = chunks(begin(), start(), text("a"), stop(), *call(1, "look"), finish("tool_use"), STOP)
    assert await through(stream) == b"".join(chunk.raw for chunk in stream)


async def test_a_denied_call_becomes_text_and_the_stop_reason_follows() -> None:
    tape = await through(chunks(begin(), start(), text("a"), stop(), *call(1, "rm"), finish("tool_use"), STOP), "rm")
    assert told(read(tape).state) == [("content", "a"), ("content", "[not allowed]")]
    assert read(tape).state.finish_reason == "end_turn"
    assert b"rm" not in tape
    assert b'"a\\"' not in tape
    legal.check_messages(payloads(tape))


async def test_an_allowed_call_behind_a_denied_one_is_numbered_anew() -> None:
    tape = await through(
        chunks(begin(), *call(0, "rm"), *call(1, "look"), finish("tool_use", output_tokens=9), STOP), "rm"
    )
    assert told(read(tape).state) == [("content", "[not allowed]"), ("tool_call", "t1", "look", '{"a":1}')]
    assert read(tape).state.finish_reason == "tool_use"
    assert read(tape).state.usage == {"input_tokens": 10, "output_tokens": 9}
    legal.check_messages(payloads(tape))


async def test_no_text_follows_an_allowed_call() -> None:
    script = [*call(0, "look"), *call(1, "rm"), *call(2, "look")]
    tape = await through(chunks(begin(), *script, finish("tool_use"), {"type": "ping"}, STOP), "rm")
    assert [block[:3] for block in told(read(tape).state)] == [("tool_call", "t0", "look"), ("tool_call", "t2", "look")]
    legal.check_messages(payloads(tape))


async def test_text_after_a_denied_call_stays_behind_what_stands_in_its_place() -> None:
    script = [*call(0, "rm"), start(1), text("then", 1), stop(1), *call(2, "look")]
    tape = await through(chunks(begin(), *script, finish("tool_use"), STOP), "rm")
    assert [block[:2] for block in told(read(tape).state)] == [
        ("content", "[not allowed]"), ("content", "then"), ("tool_call", "t2"),
    ]  # fmt: skip
    assert read(tape).state.finish_reason == "tool_use"
    legal.check_messages(payloads(tape))


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "stop_sequence", "end_turn"])
async def test_a_stop_reason_other_than_tool_use_is_left_alone(reason: str) -> None:
    tape = await through(chunks(begin(), *call(0, "rm"), finish(reason), STOP), "rm")
    assert read(tape).state.finish_reason == reason
    assert told(read(tape).state) == [("content", "[not allowed]")]


async def test_a_call_in_the_first_event_is_denied_too() -> None:
    content = [{"type": "tool_use", "id": "t", "name": "rm", "input": {"a": 1}}]
    tape = await through(chunks(begin(content=content, stop_reason="tool_use"), STOP), "rm")
    assert told(read(tape).state) == [("content", "[not allowed]")]
    assert read(tape).state.finish_reason == "end_turn"
    legal.check_messages(payloads(tape))


async def test_recorded_streams_with_all_calls_denied_are_legal() -> None:
    for path in recorded("anthropic_messages"):
        stream = parse(path.read_bytes())
        names = {block[2] for block in told(read(path.read_bytes()).state) if block[0] == "tool_call"}
        tape = await through(stream, *names)
        if names:
            legal.check_messages(payloads(tape))
            assert not any(block[0] == "tool_call" for block in told(read(tape).state)), path.stem
        else:
            assert tape == path.read_bytes()


async def test_a_whole_message_keeps_all_that_no_policy_touches() -> None:
    content = [
        {"type": "text", "text": "a", "citations": [{"url": "u"}]},
        {"type": "server_tool_use", "id": "s", "name": "search", "input": {}},
        {"type": "tool_use", "id": "t", "name": "rm", "input": {"a": 1}},
        {"type": "tool_use", "id": "t2", "name": "look", "input": {}, "caller": {"type": "direct"}},
    ]
    body = begin(content=content, stop_reason="tool_use")["message"]
    tape = await through(chunks({**body, "extra": "rm"}), "rm", body={**body, "extra": "rm"})
    assert json.loads(tape) == {
        **body,
        "content": [*content[:2], {"type": "text", "text": "[not allowed]"}, content[3]],
    }


async def test_a_whole_message_without_its_calls_ends_otherwise() -> None:
    body = begin(content=[{"type": "tool_use", "id": "t", "name": "rm", "input": {}}], stop_reason="tool_use")[
        "message"
    ]
    got = json.loads(await through(chunks(body), "rm", body=body))
    assert got["stop_reason"] == "end_turn"
    assert got["content"] == [{"type": "text", "text": "[not allowed]"}]


@pytest.mark.parametrize("behind", [[], [{"type": "text", "text": "more"}]])
async def test_a_whole_message_that_is_halted_says_by_what(behind: list[Any]) -> None:
    body = begin(content=[{"type": "text", "text": "the secret"}, *behind], stop_reason="end_turn")["message"]
    halt = active(build("text_rule", {"patterns": ["secret"], "action": "halt"}), name="halt")
    run = Run([halt], AnthropicMessagesBodyComposer(body), AnthropicMessagesAggregator())
    got = json.loads((await run.finish(chunks(body))).tape)
    assert [part["text"] for part in got["content"]] == ["the ", "[Halted by policy halt.]"]
    assert got["stop_reason"] == "refusal"


def test_calls_that_another_format_interleaves_go_out_one_after_another_behind_all_text() -> None:
    composer = AnthropicMessagesComposer({"id": "m"}, "openai_chat")
    events: list[StreamEvent] = [
        BlockStarted(0, BlockKind.TOOL_CALL, id="a", name="x"),
        BlockStarted(1, BlockKind.TOOL_CALL, name="y"),
        BlockDelta(0, "{"),
        BlockDelta(1, '{"k": ', id="b"),
        BlockDelta(0, "}"),
        BlockDelta(1, "1}"),
        BlockStarted(2, BlockKind.CONTENT),
        BlockDelta(2, "text"),
        BlockSealed(0),
        BlockSealed(1),
        StreamFinished("tool_calls"),
    ]
    tape = b"".join(composer.compose(events) + composer.end())
    legal.check_messages(payloads(tape))
    assert told(read(tape).state) == [
        ("content", "text"),
        ("tool_call", "a", "x", "{}"),
        ("tool_call", "b", "y", '{"k": 1}'),
    ]
    assert read(tape).state.finish_reason == "tool_use"


@pytest.mark.parametrize("kind", ["upstream_error", "malformed_chunk", ""])
def test_a_failure_is_told_in_the_formats_own_words(kind: str) -> None:
    frame = AnthropicMessagesComposer({}).fail(StreamFailed("it broke", kind))
    assert frame.startswith(b"event: error\n")
    assert payloads(frame) == [{"type": "error", "error": {"type": "api_error", "message": "it broke"}}]
    for own in ("overloaded_error", "request_too_large"):
        assert error_body("no", own)["error"] == {"type": own, "message": "no"}
    answer = ANTHROPIC_MESSAGES.error_answer(RequestError(413, "no", code="too_large"))[2]
    assert json.loads(answer)["error"]["type"] == "request_too_large"
    for ours in ("upstream_error", "server_error", "processing_error", "malformed_chunk", "contradiction"):
        assert error_body("no", ours)["error"] == {"type": "api_error", "message": "no"}


def test_the_keep_alive_is_a_ping() -> None:
    assert AnthropicMessagesComposer({}).keep_alive() == b'event: ping\ndata: {"type":"ping"}\n\n'
    assert AnthropicMessagesBodyComposer({}).keep_alive() == b" "
