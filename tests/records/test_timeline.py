"""Any moment of a stream, restored: the same as a fresh aggregation of its chunks up to that point."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamviz.core.blocks import StreamState
from streamviz.core.timeline import Piece, Timeline
from streamviz.core.wire import AGGREGATORS
from streamviz.records.aggregation import aggregate, events_of
from streamviz.records.block_record import BlockRecord
from streamviz.records.runs import StoredChunk
from tests.core.support import delta, parse, sse
from tests.recordings import RECORDED_FORMATS, recorded

STREAMS, MOMENTS = 100, 20


def stored(tape: bytes) -> list[StoredChunk]:
    return [StoredChunk(chunk.seq, chunk.received_at, len(chunk.raw), chunk.raw) for chunk in parse(tape)]


def timeline_of(format: str, chunks: list[StoredChunk]) -> Timeline:
    timeline = Timeline(AGGREGATORS[format]())
    for each in chunks:
        timeline.add(each.seq, each.received_at, events_of(each))
    timeline.close()
    return timeline


def shown(state: StreamState) -> object:
    """Everything about a stream's state, except what only its latest chunk brought."""
    whole = (state.usage, state.service_tier, state.finish_reasons, state.failure, state.contradiction, state.fault)
    counts = (state.is_suspect, state.is_truncated, state.length, state.begun, state.tool_calls, state.last_seq)
    sealed = [block.is_sealed for block in state.blocks]
    return [BlockRecord.of(block) for block in state.blocks], sealed, whole, counts, state.last_at


def so_far(format: str, chunks: list[StoredChunk]) -> Iterator[StreamState]:
    """A fresh aggregation after each of the chunks; its input has not ended."""
    aggregator = AGGREGATORS[format]()
    for each in chunks:
        for chunk in events_of(each):
            aggregator.aggregate(chunk)
        yield aggregator.state


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_a_moment_is_what_its_chunks_add_up_to(format: str) -> None:
    rng = random.Random(15)
    paths: list[Path] = sorted(recorded(format))
    for path in rng.sample(paths, min(STREAMS, len(paths))):
        chunks = stored(path.read_bytes())
        timeline = timeline_of(format, chunks)
        asked = set(rng.sample(range(len(chunks)), min(MOMENTS, len(chunks))))
        for seq, fresh in enumerate(so_far(format, chunks)):
            if seq in asked:
                assert shown(timeline.moment(seq)) == shown(fresh), f"{path.stem} after {seq}"
        assert shown(timeline.moment(None)) == shown(aggregate(format, chunks)), path.stem


@pytest.mark.parametrize("format", RECORDED_FORMATS)
def test_pieces_are_all_of_the_text_in_order(format: str) -> None:
    for path in sorted(recorded(format))[:40]:
        chunks = stored(path.read_bytes())
        timeline = timeline_of(format, chunks)
        texts = ["" for _ in range(timeline.blocks)]
        for seq in range(len(chunks)):
            for piece in timeline.pieces(seq):
                assert piece.start == len(texts[piece.ordinal])
                texts[piece.ordinal] += timeline.text(piece)
                if piece.end > piece.start:
                    assert timeline.chunks_of(piece) == (seq, seq), path.stem
        assert texts == [block.text for block in timeline.moment(None).blocks]


def test_characters_lead_to_the_chunks_that_they_came_in() -> None:
    timeline = timeline_of("openai_chat", stored(b"".join(sse(delta(content=text)) for text in ("ab", "cd", "ef"))))
    assert timeline.chunks_of(Piece(0, 1, 3)) == (0, 1)
    assert timeline.chunks_of(Piece(0, 4, 99)) == (2, 2)
    with pytest.raises(IndexError):
        timeline.chunks_of(Piece(0, 6, 7))


def test_nothing_counts_behind_what_cannot_be_read() -> None:
    chunks = stored(sse(delta(content="a")) + b"data: {\n\n" + sse(delta(content="b")))
    timeline = timeline_of("openai_chat", chunks)
    assert [timeline.moment(n).blocks[0].text for n in range(3)] == ["a", "a", "a"]
    assert timeline.moment(2).failure == aggregate("openai_chat", chunks).failure is not None


def test_a_chunk_whose_bytes_are_not_kept_says_nothing() -> None:
    chunks = stored(b"".join(sse(delta(content=text)) for text in ("ab", "cd", "ef")))
    chunks[1] = chunks[1]._replace(raw=None)
    timeline = timeline_of("openai_chat", chunks)
    assert timeline.pieces(1) == []
    assert timeline.moment(2).blocks[0].text == "abef"
