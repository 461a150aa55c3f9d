"""Writing OpenAI's chat completions: read back by our own aggregator and by the official SDK."""

import json
from pathlib import Path

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.aggregator import DONE, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.core.wire.openai_chat_composer import OpenAIChatComposer
from tests.core.sdk import Reader, Told
from tests.core.support import HEAD, call, calls, chunks, delta, parse, take_in, told
from tests.core.wire import legal
from tests.recordings import tags, telling


@pytest.fixture(scope="module")
def sdk() -> Reader:
    return Reader()


def compose_again(stream: list[Chunk]) -> tuple[bytes, StreamState]:
    """A stream aggregated and written again, frame by frame, as a translation would."""
    aggregator = OpenAIChatAggregator()
    composer = OpenAIChatComposer(aggregator.head)
    frames = [frame for chunk in stream for frame in composer.compose(aggregator.aggregate(chunk))]
    return b"".join([*frames, *composer.compose(aggregator.close()), b"data: [DONE]\n\n"]), aggregator.state


def merged(state: StreamState, choice: int) -> Told:
    """The blocks of a choice as in a single message: its texts joined by kind, then its calls."""
    blocks = [block for block in state.blocks if block.choice == choice]
    texts = [(str(kind), "".join(block.text for block in blocks if block.kind is kind))
             for kind in (BlockKind.THINKING, BlockKind.CONTENT, BlockKind.REFUSAL)]  # fmt: skip
    one_choice = StreamState(blocks=blocks)
    return [text for text in texts if text[1]] + [block for block in told(one_choice) if block[0] == "tool_call"]


def payloads(frames: list[bytes]) -> list[dict[str, object]]:
    return [json.loads(frame.removeprefix(b"data: ")) for frame in frames]


def test_the_first_chunk_of_a_choice_has_the_role() -> None:
    composer = OpenAIChatComposer(HEAD)
    first, second = payloads(
        composer.compose([BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "a"), BlockDelta(0, "b")])
    )
    choice = {"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": None}
    assert first == {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}
    assert second["choices"] == [{"index": 0, "delta": {"content": "b"}, "finish_reason": None}]


def test_what_it_writes_continues_what_went_through() -> None:
    composer = OpenAIChatComposer(HEAD)
    composer.passed([BlockStarted(0, BlockKind.TOOL_CALL, 0, 0, "a", "f"), BlockDelta(0, "{}")])
    [start] = payloads(composer.compose([BlockStarted(1, BlockKind.TOOL_CALL, 0, 2, "b", "g")]))
    [more] = payloads(composer.compose([BlockDelta(0, " ")]))
    call_started = {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}
    assert start["choices"] == [{"index": 0, "delta": {"tool_calls": [call_started]}, "finish_reason": None}]
    assert more["choices"] == [
        {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": " "}}]}, "finish_reason": None}
    ]


def test_a_late_id_or_name_is_written() -> None:
    composer = OpenAIChatComposer(HEAD)
    composer.compose([BlockStarted(0, BlockKind.TOOL_CALL)])
    [frame] = payloads(composer.compose([BlockDelta(0, id="a", name="f")]))
    assert frame["choices"] == [{"index": 0, "finish_reason": None, "delta": {"tool_calls": [
        {"index": 0, "function": {"arguments": "", "name": "f"}, "id": "a"}]}}]  # fmt: skip


def test_completion_other_blocks_and_empty_deltas_have_no_place_in_the_format() -> None:
    events = [BlockStarted(0, BlockKind.MEDIA, label="audio"), BlockDelta(0, "{}"), BlockCompleted(0), BlockSealed(0)]
    assert OpenAIChatComposer(HEAD).compose(events) == []
    assert OpenAIChatComposer(HEAD).compose([BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "")]) == []


def test_usage_comes_in_a_chunk_with_no_choices() -> None:
    [frame] = payloads(OpenAIChatComposer(HEAD).compose([UsageUpdated({"total_tokens": 1})]))
    assert (frame["choices"], frame["usage"]) == ([], {"total_tokens": 1})


def test_a_failure_ends_the_stream_legally(sdk: Reader) -> None:
    composer = OpenAIChatComposer(HEAD)
    frames = composer.compose([BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "a")])
    tape = b"".join(frames) + composer.keep_alive() + composer.fail(StreamFailed("it broke", "server_error"))
    assert tape.endswith(b"data: [DONE]\n\n")
    with pytest.raises(openai.APIError, match="it broke"):
        sdk.stream(tape)


def test_a_keep_alive_means_nothing_to_the_sdk(sdk: Reader) -> None:
    composer = OpenAIChatComposer(HEAD)
    frames = composer.compose([BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "a"), StreamFinished("stop")])
    messages, reasons = sdk.stream(composer.keep_alive().join([b"", *frames, b"data: [DONE]\n\n"]))
    assert (messages, reasons) == ({0: [("content", "a")]}, {0: "stop"})


def test_recorded_streams_composed_again_are_read_back_by_the_sdk(sdk: Reader) -> None:
    failing: list[Path] = []
    for path in telling("openai_chat"):
        tape, state = compose_again(parse(path.read_bytes()))
        if state.failure is not None:
            failing.append(path)
            with pytest.raises(openai.APIError):
                sdk.stream(tape)
            continue
        legal.check_chat([json.loads(chunk.data) for chunk in parse(tape) if chunk.data and chunk.data != DONE])
        messages, reasons = sdk.stream(tape)
        assert messages == {choice: merged(state, choice) for choice in messages}, path.stem
        assert {block.choice for block in state.blocks} <= set(messages), path.stem
        assert {choice: reason for choice, reason in reasons.items() if reason} == state.finish_reasons, path.stem
    assert failing == [path for path in telling("openai_chat") if "!error_event" in tags(path)]


def test_recorded_streams_composed_again_give_the_same_blocks_to_our_own_aggregator() -> None:
    for path in telling("openai_chat"):
        tape, state = compose_again(parse(path.read_bytes()))
        again = take_in(parse(tape)).state
        for choice in {block.choice for block in state.blocks}:
            assert merged(again, choice) == merged(state, choice), path.stem
        assert again.usage == state.usage, path.stem


PIECES = st.one_of(
    st.builds(lambda text: delta(content=text), st.text(max_size=4)),
    st.builds(lambda text: delta(reasoning_content=text), st.text(max_size=4)),
    st.builds(
        lambda index, text: calls(call(index, f"id-{index}", f"f{index}", text)), st.integers(0, 3), st.text(max_size=4)
    ),
)


@given(st.lists(PIECES, max_size=12))
def test_generated_streams_composed_again_are_read_back(made: list[dict[str, object]]) -> None:
    tape, state = compose_again(chunks(*made, delta(finish="stop")))
    messages, _ = Reader().stream(tape)
    assert messages == {0: merged(state, 0)}


# Whole bodies

THINKING = {"reasoning": "hm", "reasoning_details": [{"data": "x"}]}
MESSAGE = {"role": "assistant", "content": "a", "annotations": [1], **THINKING,
           "tool_calls": [call(id="x", name="f", arguments="{}")]}  # fmt: skip
BODY = {**HEAD, "object": "chat.completion", "extra": 1,
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls", "logprobs": None}]}  # fmt: skip


def body_events(body: dict[str, object]) -> list[StreamEvent]:
    aggregator = OpenAIChatAggregator()
    return aggregator.aggregate(Chunk(0, 0, b"", json.dumps(body).encode()))


def test_a_body_keeps_every_field_that_no_policy_touched() -> None:
    [raw] = OpenAIChatBodyComposer(BODY).compose(body_events(BODY))
    assert json.loads(raw) == BODY


def test_a_body_whose_blocks_went_leaves_nothing_of_them() -> None:
    message = {**MESSAGE, "function_call": {"name": "rm", "arguments": "secret"}}
    body = {**BODY, "choices": [{"message": message, "finish_reason": "tool_calls"}]}
    events = [BlockStarted(0, BlockKind.CONTENT), BlockDelta(0, "denied"), StreamFinished("stop")]
    [raw] = OpenAIChatBodyComposer(body).compose(events)
    assert json.loads(raw)["choices"] == [
        {"message": {"role": "assistant", "content": "denied"}, "finish_reason": "stop"}
    ]


def test_a_body_with_choices_that_have_no_index_keeps_them_apart() -> None:
    choices = [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for text in "ab"]
    body = {**BODY, "choices": choices}
    [raw] = OpenAIChatBodyComposer(body).compose(body_events(body))
    assert json.loads(raw) == body


def test_a_body_is_written_once() -> None:
    assert OpenAIChatBodyComposer(BODY).compose([BlockCompleted(0), BlockSealed(0)]) == []


def test_a_body_may_be_kept_alive_and_may_fail() -> None:
    composer = OpenAIChatBodyComposer(BODY)
    error = {"message": "it broke", "type": "upstream_error", "param": None, "code": None}
    assert json.loads(composer.keep_alive() + composer.fail(StreamFailed("it broke"))) == {"error": error}
