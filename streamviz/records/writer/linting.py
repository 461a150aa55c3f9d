"""Note where upstream broke its format, and what a stream waited for, once it is stored."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self
from uuid import UUID

import psycopg

from streamviz.core.outcome import Outcome
from streamviz.core.wire import LINTERS
from streamviz.records.aggregation import lint
from streamviz.records.columns import as_array
from streamviz.records.recorder import StreamClosed
from streamviz.records.runs import RUN, StoredChunk, chunks_in
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.stalling import INSERT as INSERT_STALL
from streamviz.records.writer.stalling import stall_rows

# Only the beginning of longer streams is read, because storing waits meanwhile.
MOST_CHUNKS = 20_000
RUNS = """
SELECT stream_id, first_seq, first_at, offsets, lengths, payload FROM records_upstreamrun
WHERE stream_id = ANY(%s) ORDER BY stream_id, first_seq LIMIT %s
"""
INSERT = """
INSERT INTO records_lintnote (stream_id, rule, seq, times, at, provider, model)
SELECT id, %s, %s, %s, requested_at, provider, requested_model FROM records_stream WHERE id = %s ON CONFLICT DO NOTHING
"""


class _Ended(NamedTuple):
    """A stream that ended; `chunk_count` is how many chunks Postgres has of it, and `batch` has those that came with
    its end."""

    batch: Batch
    closed: StreamClosed
    wire_format: str
    requested_at: int
    chunk_count: int

    @classmethod
    def of(cls, batch: Batch) -> Self | None:
        """None if there is nothing to note: the stream goes on, or there are no rules for its format."""
        if batch.closed is None or batch.began is None or batch.began.wire_format not in LINTERS:
            return None
        stored = batch.stored.chunk_count if batch.stored else 0
        count = max(batch.closed.chunk_count, batch.reached()[0], stored)
        return cls(batch, batch.closed, batch.began.wire_format, batch.began.requested_at, count)


def write_lint_notes(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Note lint and stalls of the streams that ended, whose chunks are stored by now."""
    rows, waits = [], []
    ended = [stream for batch in batches if (stream := _Ended.of(batch))]
    for stream, chunks in _with_chunks(cursor, ended):
        is_whole = stream.closed.outcome == Outcome.COMPLETED and stream.chunk_count <= MOST_CHUNKS
        notes = lint(stream.wire_format, chunks, is_whole)
        rows += [(note.rule, note.seq, note.times, stream.closed.stream_id) for note in notes]
        waits += stall_rows(stream.closed, stream.requested_at, [chunk.received_at for chunk in chunks])
    for statement, values in ((INSERT, rows), (INSERT_STALL, waits)):
        if values:
            cursor.executemany(statement, values)


def _with_chunks(cursor: psycopg.Cursor, ended: Sequence[_Ended]) -> Iterator[tuple[_Ended, Sequence[StoredChunk]]]:
    """Each stream with its chunks: those just stored are at hand; a stream that has more is read again as a whole."""
    others = []
    for stream in ended:
        chunks = [chunk for piece in stream.batch.chunks for chunk in piece.stored()]
        if len(chunks) == stream.chunk_count <= MOST_CHUNKS:
            yield stream, chunks
        else:
            others.append(stream)
    for streams in _together(others):
        stored = _chunks(cursor, streams)
        yield from ((stream, stored[stream.closed.stream_id]) for stream in streams)


def _together(ended: Sequence[_Ended]) -> Iterator[list[_Ended]]:
    """Group streams whose chunks are read at once: as many as have MOST_CHUNKS between them, or a longer one alone."""
    streams: list[_Ended] = []
    chunks = 0
    for stream in ended:
        chunks += stream.chunk_count
        if streams and chunks > MOST_CHUNKS:
            yield streams
            streams, chunks = [], stream.chunk_count
        streams.append(stream)
    if streams:
        yield streams


def _chunks(cursor: psycopg.Cursor, streams: Sequence[_Ended]) -> dict[UUID, list[StoredChunk]]:
    chunks: dict[UUID, list[StoredChunk]] = {stream.closed.stream_id: [] for stream in streams}
    most = MOST_CHUNKS // RUN if len(streams) == 1 else MOST_CHUNKS
    for stream_id, *run in cursor.execute(RUNS, [as_array(chunks), most], binary=True).fetchall():
        chunks[stream_id] += chunks_in(*run)
    return chunks
