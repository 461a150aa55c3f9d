"""The stream processor: one callback per chunk, with the state that it led to."""

import json
from collections.abc import AsyncIterator, Callable, Iterable

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.context import Frame
from streamviz.core.errors import IllegalTransition, UpstreamError
from streamviz.core.events import CONTRADICTION, MALFORMED_CHUNK, PROCESSING_ERROR
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.processor import OnChunk, StreamProcessor, pass_through
from streamviz.core.verdicts import Mode
from streamviz.core.wire.gemini import GeminiAggregator
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from tests.core.support import Run, active, call, calls, chunks, delta, deny_names, parse, sse
from tests.recordings import recorded

STREAM = chunks(delta(content="a"), delta(content="b"), calls(call(0, "x", "f", "{}")))


def processor(on_chunk: OnChunk) -> tuple[StreamProcessor, ChainContext]:
    return StreamProcessor(on_chunk, OpenAIChatAggregator()), ChainContext("run-1", lambda: 0)


async def incoming(stream: Iterable[Chunk]) -> AsyncIterator[Chunk]:
    for chunk in stream:
        yield chunk


async def test_it_calls_back_once_a_chunk_and_once_at_the_end() -> None:
    seen: list[tuple[int | None, list[str]]] = []

    async def on_chunk(chunk: Chunk | None, state: StreamState, context: ChainContext) -> None:
        seen.append((None if chunk is None else chunk.seq, [block.text for block in state.blocks]))

    run, context = processor(on_chunk)
    await run.process(incoming(STREAM), context)
    assert seen == [(0, ["a"]), (1, ["ab"]), (2, ["ab", "{}"]), (None, ["ab", "{}"])]
    assert run.state.is_truncated


async def test_the_callback_at_the_end_sees_what_only_the_end_completed() -> None:
    completed: list[list[int]] = []

    async def on_chunk(chunk: Chunk | None, state: StreamState, context: ChainContext) -> None:
        completed.append([block.ordinal for block in state.just_completed])

    run, context = processor(on_chunk)
    await run.process(incoming(STREAM), context)
    assert completed == [[], [], [0], [1]]


async def test_pass_through_sends_every_chunk_as_it_came() -> None:
    run, context = processor(pass_through)
    await run.process(incoming(STREAM), context)
    assert context.outbox == [Frame(chunk.raw, chunk.seq) for chunk in STREAM]


async def test_after_terminate_nothing_more_is_taken_nor_called() -> None:
    seen: list[int] = []

    async def on_chunk(chunk: Chunk | None, state: StreamState, context: ChainContext) -> None:
        assert chunk is not None
        seen.append(chunk.seq)
        if chunk.seq == 1:
            context.terminate()

    run, context = processor(on_chunk)
    await run.process(incoming(STREAM), context)
    assert seen == [0, 1]
    assert [block.text for block in run.state.blocks] == ["ab"]
    assert all(block.is_sealed for block in run.state.blocks)

    run, context = processor(on_chunk)
    await run.take(STREAM, context)
    assert seen == [0, 1, 0, 1]


@pytest.mark.parametrize("garbage", ["{broken", "null", "[" * 10_000])
async def test_a_chunk_that_cannot_be_read_ends_the_stream_unseen(garbage: str) -> None:
    first, bad, after = chunks(delta(content="a"), garbage, delta(content="b"))
    run, context = processor(pass_through)
    await run.process(incoming([first, bad, after]), context)
    assert run.is_broken
    assert context.outbox == [Frame(first.raw, 0)]
    assert run.state.failure is not None
    assert run.state.failure.kind == MALFORMED_CHUNK
    assert [block.text for block in run.state.blocks] == ["a"]


async def test_recorded_streams_pass_through_byte_for_byte() -> None:
    for path in recorded("openai_chat"):
        data = path.read_bytes()
        run, context = processor(pass_through)
        await run.take(parse(data, 1000), context)
        await run.end(context)
        assert b"".join(frame.raw for frame in context.outbox) == data, path.stem


class Doubter(OpenAIChatAggregator):
    """Considers each chunk with a `doubt` ambiguous."""

    def _read(self, payload: JsonObject, name: str) -> None:
        super()._read(payload, name)
        if "doubt" in payload:
            self._contradict("a doubt")


def doubted(mode: Mode) -> Run:
    return Run([active(deny_names("rm"), mode)], aggregator=Doubter())


DOUBTED = chunks(delta(content="a"), {**delta(content="b"), "doubt": 1}, delta(content="c", finish="stop"))


async def test_a_chunk_that_can_be_read_in_two_ways_ends_a_stream_that_policies_act_on() -> None:
    run = await doubted(Mode.ENFORCE).finish(DOUBTED)
    assert run.tape == DOUBTED[0].raw
    assert run.processor.broken_by is not None
    assert run.processor.broken_by.kind == CONTRADICTION


async def test_a_block_that_begins_in_an_ambiguous_chunk_goes_nowhere() -> None:
    begins = {**calls(call(0, "x", "look", "{}")), "doubt": 1}
    run = await doubted(Mode.ENFORCE).finish(chunks(delta(content="a"), begins))
    assert run.tape == DOUBTED[0].raw


async def test_a_held_call_that_an_ambiguous_chunk_changes_goes_nowhere() -> None:
    """Otherwise the client would get it without the change."""
    begun, changes = calls(call(0, "x", "rm")), {**calls(call(0, None, "-list")), "doubt": 1}
    run = await doubted(Mode.ENFORCE).finish(chunks(delta(content="a"), begun, changes))
    assert run.tape == DOUBTED[0].raw
    assert not run.chain.is_holding


async def test_a_held_call_that_a_chunk_of_too_many_blocks_changes_goes_nowhere() -> None:
    run = Run([active(deny_names("rm"))], aggregator=OpenAIChatAggregator(most_blocks=4))
    # The first change is applied before the aggregator notices that there are too many blocks.
    many = calls(call(0, None, "-list"), *(call(n, f"y{n}", "ls", "{}") for n in range(1, 4)))
    begun = chunks(delta(content="a"), calls(call(0, "x", "rm")), many)
    with pytest.raises(UpstreamError):
        await run.take(*begun)
    await run.finish()
    assert run.tape == begun[0].raw


async def test_a_held_call_that_an_ambiguous_chunk_leaves_alone_is_judged() -> None:
    begun = chunks(calls(call(0, "x", "ls", "{}")), {**delta(content="b"), "doubt": 1})
    run = await doubted(Mode.ENFORCE).finish(begun)
    assert run.tape == begun[0].raw


async def test_with_shadows_and_with_no_policy_it_goes_on_and_the_stream_is_marked() -> None:
    shadowed = await doubted(Mode.SHADOW).finish(DOUBTED)
    plain, context = StreamProcessor(pass_through, Doubter()), ChainContext("run-1", lambda: 0)
    await plain.process(incoming(DOUBTED), context)
    for state, frames in ((shadowed.processor.state, shadowed.context.outbox), (plain.state, context.outbox)):
        assert [frame.raw for frame in frames] == [chunk.raw for chunk in DOUBTED]
        assert state.contradiction == "upstream contradicts itself: a doubt"
        assert state.failure is None
        assert state.finish_reason == "stop"


EVIL = json.dumps(calls(call(0, "x", "rm", "{}")))
HIDDEN = {
    "an answer that is plain JSON": EVIL,
    "one that ends as an event does": f"{EVIL}\n\n",
    "a line of no field": f"{EVIL}\nid: 1\n\n",
    **{f"a comment with {ord(end):#x}": f": x{end}data: {EVIL}\n\n" for end in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"},
    "a comment beside data": f': x\u2028data: {EVIL}\ndata: {{"choices": []}}\n\n',
    "a line end in data": 'data: {"choices": [], "x": "\u2028 data: no\u2028"}\n\n',
    "a line end in lines of data": 'data: {"choices": [], "x":\ndata:"\u2028"}\n\n',
}


@pytest.mark.parametrize("name", HIDDEN)
async def test_what_only_some_clients_take_for_data_ends_a_stream_that_policies_act_on(name: str) -> None:
    run = await Run([active(deny_names("rm"))]).finish(parse(HIDDEN[name].encode()))
    assert run.tape == b""
    assert run.processor.is_broken
    plain, context = processor(pass_through)
    await plain.process(incoming(parse(HIDDEN[name].encode())), context)
    assert b"".join(frame.raw for frame in context.outbox) == HIDDEN[name].encode()


async def test_what_the_format_has_besides_data_goes_on() -> None:
    tape = "\ufeff: OPENROUTER\n\nevent: ping\nid: 1\nretry: 5\n\nid\n\n" + sse(delta(content="a")).decode()
    tape += sse(json.dumps(delta(content="\u2028b\x85\u2029", finish="stop"), ensure_ascii=False)).decode() + "\r\n\r\n"
    run = await Run([active(deny_names("rm"))]).finish(parse(tape.encode()))
    assert not run.processor.is_broken
    assert run.tape == tape.encode()


class Faulty(OpenAIChatAggregator):
    """An aggregator that fails on a chunk with `odd` in it."""

    def _read(self, payload: JsonObject, name: str) -> None:
        super()._read(payload, name)
        if "odd" in payload:
            raise IllegalTransition("block 0 is sealed and cannot grow")


ODD = chunks(delta(content="a"), {**delta(content="b"), "odd": 1}, delta(content="c"))


async def test_a_chunk_at_which_the_aggregator_fails_goes_on_where_nothing_acts() -> None:
    run, context = StreamProcessor(pass_through, Faulty()), ChainContext("run-1", lambda: 0)
    await run.process(incoming(ODD), context)
    assert context.outbox == [Frame(chunk.raw, chunk.seq) for chunk in ODD]
    assert not run.is_broken
    assert run.state.failure is None
    assert "IllegalTransition: block 0 is sealed" in run.state.fault
    assert [block.text for block in run.state.blocks] == ["abc"]


async def test_a_chunk_at_which_the_aggregator_fails_does_not_go_on_unjudged() -> None:
    run, context = StreamProcessor(pass_through, Faulty(), is_enforcing=True), ChainContext("run-1", lambda: 0)
    await run.process(incoming(ODD), context)
    assert context.outbox == [Frame(ODD[0].raw, 0)]
    assert run.broken_by is not None
    assert run.broken_by.kind == PROCESSING_ERROR


MANY = delta(content="c", logprobs=[{"token": "x"}] * 1_000)


async def test_only_a_long_chunk_is_looked_at_aside() -> None:
    aside: list[bool] = []

    async def note(work: Callable[[], None]) -> None:
        aside.append(run.state.last_seq == 0)
        work()
        assert [block.text for block in run.state.blocks] == ["a"]

    aggregator, context = OpenAIChatAggregator(), ChainContext("run-1", lambda: 0)
    run = StreamProcessor(pass_through, aggregator, aside=note)
    await run.process(incoming(chunks(delta(content="a"), MANY, delta(content="d"))), context)
    assert (aside, run.state.blocks[0].text) == ([True], "acd")


async def test_a_long_error_that_is_no_event_is_looked_at_aside() -> None:
    aside: list[int] = []

    async def note(work: Callable[[], None]) -> None:
        work()
        aside.append(len(run.state.blocks))

    error = {"error": {"message": "overloaded", "details": [{"reason": "x"}] * 1_000}}
    run = StreamProcessor(pass_through, GeminiAggregator(), aside=note)
    await run.process(incoming(parse(json.dumps(error).encode() + b"\n\n")), ChainContext("run-1", lambda: 0))
    assert aside == [0]
    assert run.state.failure is not None
    assert run.state.failure.message == "overloaded"


@pytest.mark.parametrize("payload", [MANY, [], "x", {"choices": [{"index": 0, "delta": {"content": "c"}}] * 2_001}])
def test_what_was_prepared_comes_to_the_same(payload: object) -> None:
    found = []
    for is_prepared in (False, True):
        aggregator = OpenAIChatAggregator(most_blocks=100, most_values=5_000)
        error = ""
        for chunk in parse(sse(delta(content="a")) + b"data: %b\n\n" % json.dumps(payload).encode()):
            if is_prepared:
                aggregator.prepare(chunk)
            try:
                aggregator.aggregate(chunk)
            except UpstreamError as raised:
                error = raised.message
        state = aggregator.state
        found.append((state.events, state.contradiction, state.beside, [block.text for block in state.blocks], error))
    assert found[0] == found[1]
