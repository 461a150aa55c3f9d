"""What all aggregators share: order of use, callbacks, and a cost that grows linearly with the input."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.errors import AlreadyComplete, NothingAggregated
from streamviz.core.events import BlockStarted, StreamEvent
from streamviz.core.wire import AGGREGATORS
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from tests.core.support import aggregate, call, calls, chunks, delta, told


def test_it_calls_back_with_each_event_in_order() -> None:
    heard: list[StreamEvent] = []
    aggregator = OpenAIChatAggregator(heard.append)
    stream = chunks(delta(content="a"), calls(call(0, "x", "f", "{}")), delta(finish="tool_calls"))
    given = [event for chunk in stream for event in aggregator.aggregate(chunk)] + aggregator.close()
    assert heard == given


def test_the_state_has_taken_an_event_in_when_it_calls_back() -> None:
    seen: list[int] = []
    aggregator = OpenAIChatAggregator(lambda event: seen.append(len(aggregator.state.blocks)))
    aggregator.aggregate(chunks(delta(content="a"))[0])
    assert seen == [1, 1]


def test_it_takes_no_chunk_after_close_or_build() -> None:
    first, second = chunks(delta(content="a"), delta(content="b"))
    for end in (OpenAIChatAggregator.close, OpenAIChatAggregator.build):
        aggregator = OpenAIChatAggregator(run_id="run-1")
        aggregator.aggregate(first)
        end(aggregator)
        with pytest.raises(AlreadyComplete, match="run-1"):
            aggregator.aggregate(second)


def test_it_builds_nothing_from_nothing() -> None:
    with pytest.raises(NothingAggregated):
        OpenAIChatAggregator().build()


def test_closing_twice_gives_nothing_more() -> None:
    aggregator = OpenAIChatAggregator()
    aggregator.aggregate(chunks(delta(content="a"))[0])
    assert len(aggregator.close()) == 2
    assert aggregator.close() == []
    assert aggregator.state.just_completed == ()


def test_clear_leaves_nothing_of_the_last_stream() -> None:
    aggregator = OpenAIChatAggregator()
    stream = chunks(delta(content="a"), calls(call(0, "x", "f", "{}")), delta(finish="stop"), "[DONE]")
    for _ in range(2):
        events = [event for chunk in stream for event in aggregator.aggregate(chunk)] + aggregator.close()
        assert isinstance(events[0], BlockStarted)
        assert events[0].id == "content"
        aggregator.clear()
        assert (aggregator.state.blocks, aggregator.is_complete, aggregator.has_end_mark) == ([], False, False)


def test_a_chunk_with_no_data_is_no_event() -> None:
    aggregator = OpenAIChatAggregator()
    for data in (None, b"", b"[DONE]"):
        assert aggregator.aggregate(Chunk(0, 0, b": x", data)) == []


def test_blocks_know_their_chunks_and_times() -> None:
    state = aggregate(delta(role="assistant"), delta(content="a"), delta(content="b"), calls(call(0, "x", "f", "{}")))
    text = state.blocks[0]
    assert (text.first_seq, text.last_seq, text.started_at, text.completed_at) == (1, 2, 1000, 3000)


def test_a_block_is_not_joined_while_it_grows() -> None:
    """Joining on every delta would make the cost quadratic in the length of a block."""
    aggregator = OpenAIChatAggregator()
    for chunk in chunks(*[delta(content="ab")] * 1000):
        aggregator.aggregate(chunk)
    [block] = aggregator.state.blocks
    assert len(block._pieces) == 1000
    assert (block.length, block.text, len(block._pieces)) == (2000, "ab" * 1000, 1)


@pytest.mark.slow
def test_thousands_of_calls_in_one_chunk_are_all_told() -> None:
    many = [call(index, f"id-{index}", "f", "{}") for index in range(20_000)]
    again = [call(index, arguments=" ") for index in range(20_000)]
    state = aggregate(calls(*many, *again, finish="tool_calls"))
    assert len(state.blocks) == 20_000
    assert told(state)[-1] == ("tool_call", "id-19999", "f", "{} ")


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        ("openai_responses", lambda own: {"type": "response.in_progress", "response": own}),
        ("anthropic_messages", lambda own: {"type": "message_start", "message": own}),
        ("gemini", lambda own: own),
    ],
)
def test_what_a_chunk_that_goes_nowhere_says_of_the_answer_is_forgotten(format: str, payload: Any) -> None:
    aggregator = AGGREGATORS[format]()
    told = [{"id": "a", "of": {"x": 1}}, {"id": "b", "of": {"x": 2}, "more": 1}]
    for seq, own in enumerate(told):
        data = json.dumps(payload(own)).encode()
        aggregator.aggregate(Chunk(seq, 0, b"data: %b\n\n" % data, data))
    assert aggregator.head == told[1]
    aggregator.forget()
    assert aggregator.head == told[0]
