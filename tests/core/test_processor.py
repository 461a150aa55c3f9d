"""The stream processor: one callback a chunk, with the state that it led to."""

from collections.abc import AsyncIterator, Iterable

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.context import Frame, StreamingContext
from streamviz.core.events import MALFORMED_CHUNK
from streamviz.core.processor import OnChunk, StreamProcessor, pass_through
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from tests.core.support import call, calls, chunks, delta, needs_recordings, parse, recorded

STREAM = chunks(delta(content="a"), delta(content="b"), calls(call(0, "x", "f", "{}")))


def processor(on_chunk: OnChunk) -> tuple[StreamProcessor, StreamingContext]:
    return StreamProcessor(on_chunk, OpenAIChatAggregator()), StreamingContext("run-1", lambda: 0)


async def incoming(stream: Iterable[Chunk]) -> AsyncIterator[Chunk]:
    for chunk in stream:
        yield chunk


async def test_it_calls_back_once_a_chunk_and_once_at_the_end() -> None:
    seen: list[tuple[int | None, list[str]]] = []

    async def on_chunk(chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        seen.append((None if chunk is None else chunk.seq, [block.text for block in state.blocks]))

    run, context = processor(on_chunk)
    await run.process(incoming(STREAM), context)
    assert seen == [(0, ["a"]), (1, ["ab"]), (2, ["ab", "{}"]), (None, ["ab", "{}"])]
    assert run.state.is_truncated


async def test_the_callback_at_the_end_sees_what_only_the_end_completed() -> None:
    completed: list[list[int]] = []

    async def on_chunk(chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
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

    async def on_chunk(chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
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


@needs_recordings
async def test_recorded_streams_pass_through_byte_for_byte() -> None:
    for path in recorded("openai_chat"):
        data = path.read_bytes()
        run, context = processor(pass_through)
        await run.take(parse(data, 1000), context)
        await run.end(context)
        assert b"".join(frame.raw for frame in context.outbox) == data, path.stem
