"""Reading Anthropic's messages: chunks in, blocks and events out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from tests.core.support import chunks, signatures, told


def start(index: int | None = 0, **part: Any) -> dict[str, Any]:
    payload = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": "", **part}}
    return {key: value for key, value in payload.items() if value is not None}


def grow(index: int | None = 0, **delta: Any) -> dict[str, Any]:
    payload = {"type": "content_block_delta", "index": index, "delta": delta}
    return {key: value for key, value in payload.items() if value is not None}


def text(said: str, index: int | None = 0) -> dict[str, Any]:
    return grow(index, type="text_delta", text=said)


def stop(index: int = 0) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def begin(**message: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    common = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return {"type": "message_start", "message": {**common, **message}}


def finish(reason: str | None = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def take_in(*payloads: object) -> AnthropicMessagesAggregator:
    aggregator = AnthropicMessagesAggregator()
    for chunk in chunks(*payloads):
        aggregator.aggregate(chunk)
    aggregator.close()
    return aggregator


def test_it_reads_a_plain_answer() -> None:
    aggregator = AnthropicMessagesAggregator()
    script = chunks(begin(), start(), text("Hi"), stop(), finish(output_tokens=3), {"type": "message_stop"})
    assert [aggregator.aggregate(chunk) for chunk in script] == [
        [UsageUpdated({"input_tokens": 10, "output_tokens": 1})],
        [BlockStarted(0, BlockKind.CONTENT, 0, 0, "content")],
        [BlockDelta(0, "Hi")],
        [BlockCompleted(0), BlockSealed(0)],
        [UsageUpdated({"input_tokens": 10, "output_tokens": 3}), StreamFinished("end_turn")],
        [],
    ]
    assert aggregator.close() == []
    assert not aggregator.state.is_truncated


def test_a_stop_seals_its_block_at_once() -> None:
    aggregator = AnthropicMessagesAggregator()
    for chunk in chunks(begin(), start(type="tool_use", id="t1", name="look"), stop()):
        aggregator.aggregate(chunk)
    assert [block.id for block in aggregator.state.just_sealed] == ["t1"]


def test_a_start_whose_stop_never_came_completes_the_block_before_it() -> None:
    aggregator = AnthropicMessagesAggregator()
    *before, last = chunks(begin(), start(), text("a"), start(1))
    for chunk in before:
        aggregator.aggregate(chunk)
    assert aggregator.aggregate(last) == [BlockCompleted(0), BlockStarted(1, BlockKind.CONTENT, 0, 1, "content-2")]


def test_it_reads_a_block_whose_start_never_came() -> None:
    state = take_in(begin(), text("a"), grow(1, type="thinking_delta", thinking="b"),
                    grow(2, type="input_json_delta", partial_json="{}"), finish()).state  # fmt: skip
    assert told(state) == [("content", "a"), ("thinking", "b"), ("tool_call", "", "", "{}")]


def test_a_delta_behind_a_stop_is_a_block_of_its_own() -> None:
    assert told(take_in(begin(), start(), text("a"), stop(), text("b"), finish()).state) == [
        ("content", "a"),
        ("content", "b"),
    ]


def test_it_reads_blocks_without_an_index() -> None:
    state = take_in(begin(), start(None), text("a", None), start(None), text("b", None), finish()).state
    assert told(state) == [("content", "a"), ("content", "b")]


def test_a_reused_index_is_a_new_block() -> None:
    state = take_in(begin(), start(), text("a"), start(), text("b"), finish()).state
    assert told(state) == [("content", "a"), ("content", "b")]
    assert all(block.is_sealed for block in state.blocks)


def test_it_reads_input_that_came_whole_with_the_start() -> None:
    state = take_in(begin(), start(type="tool_use", id="t", name="n", input={"a": [1, "ü"]}), stop(), finish()).state
    assert told(state) == [("tool_call", "t", "n", '{"a": [1, "ü"]}')]


def test_it_reads_a_message_that_starts_with_its_content_and_its_end() -> None:
    call = {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}
    state = take_in(begin(content=[call], stop_reason="tool_use"), {"type": "message_stop"}).state
    assert told(state) == [("tool_call", "t", "n", '{"a": 1}')]
    assert state.finish_reason == "tool_use"
    assert not state.is_truncated


def test_it_keeps_signatures_and_redacted_thinking() -> None:
    aggregator = take_in(begin(), start(type="thinking", thinking=""), grow(type="thinking_delta", thinking="hm"),
                         grow(type="signature_delta", signature="sig"), stop(),
                         start(1, type="redacted_thinking", data="secret"), stop(1), finish())  # fmt: skip
    assert told(aggregator.state) == [("thinking", "hm"), ("thinking", "")]
    assert signatures(aggregator.state) == ["sig", "secret"]
    built: Any = aggregator.build()
    assert built["content"][1] == {"type": "redacted_thinking", "data": "secret"}


def test_citations_belong_to_the_block_and_not_to_its_text() -> None:
    aggregator = take_in(begin(), start(), grow(type="citations_delta", citation={"url": "u"}), text("a"), stop())
    assert told(aggregator.state) == [("content", "a")]
    assert aggregator.build()["content"] == [{"type": "text", "text": "a", "citations": [{"url": "u"}]}]


@pytest.mark.parametrize(
    ("part", "deltas", "want"),
    [
        ({"type": "compaction", "content": None}, [{"type": "compaction_delta", "content": "short"}], "short"),
        ({"type": "new_kind", "text": None}, [{"type": "new_delta", "said": "x"}], "x"),
        ({"type": "odd_result", "text": None, "content": [1]}, [], '{"content":[1]}'),
    ],
)
def test_other_kinds_are_kept_under_the_wires_word(part: Any, deltas: list[Any], want: str) -> None:
    payload = {"type": "content_block_start", "index": 0, "content_block": part}
    state = take_in(begin(), payload, *(grow(**delta) for delta in deltas), stop(), finish()).state
    assert told(state) == [("other", want)]


def test_an_unknown_delta_adds_no_text_to_a_known_block() -> None:
    assert told(take_in(begin(), start(), grow(type="mood_delta", mood="good"), text("a")).state) == [("content", "a")]


def test_usage_at_the_end_corrects_what_the_message_began_with() -> None:
    state = take_in(begin(), finish(output_tokens=7, input_tokens=None, cache_read_input_tokens=2)).state
    assert state.usage == {"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 2}


def test_usage_that_grows_with_each_event_is_kept_so_far() -> None:
    state = take_in(begin(), *(finish(None, **{f"count_{number}": 1}) for number in range(500))).state
    assert state.usage is not None
    assert list(state.usage.items())[:3] == [("input_tokens", 10), ("output_tokens", 1), ("count_0", 1)]
    assert len(state.usage) == 100


def test_without_a_stop_reason_the_stream_is_truncated() -> None:
    state = take_in(begin(), start(), text("a")).state
    assert state.is_truncated
    assert state.blocks[0].is_truncated


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
        {"error": {"type": "overloaded_error", "message": "busy"}},
    ],
)
def test_it_reports_an_error(payload: Any) -> None:
    assert take_in(begin(), payload).state.failure == StreamFailed("busy", "overloaded_error")


def test_a_whole_message_is_read_as_one_chunk() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "n", "input": {}}]
    message = begin(content=content, stop_reason="tool_use")["message"]
    aggregator = take_in(message)
    assert told(aggregator.state) == [("content", "a"), ("tool_call", "t", "n", "")]
    assert aggregator.build() == {**message, "stop_sequence": None}


def test_clear_leaves_nothing_of_the_last_stream() -> None:
    aggregator = take_in(begin(), start(), text("a"), finish())
    aggregator.clear()
    aggregator.aggregate(chunks({"type": "message_start", "message": {}})[0])
    assert aggregator.build() == {
        "id": "", "type": "message", "role": "assistant", "model": "", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0},
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=5)), max_size=40))
def test_interleaved_indices_are_separate_blocks(pieces: list[tuple[int, str]]) -> None:
    wanted: dict[int, str] = {}
    script = []
    for index, said in pieces:
        if index not in wanted:
            script.append(start(index))
        wanted[index] = wanted.get(index, "") + said
        script.append(text(said, index))
    assert told(take_in(begin(), *script, finish()).state) == [("content", said) for said in wanted.values()]
