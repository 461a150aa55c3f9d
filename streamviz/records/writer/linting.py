"""Noting what upstream sent that its format does not allow, and what a stream waited for, once it is stored."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import psycopg

from streamviz.core.lint import LINTERS
from streamviz.core.outcome import Outcome
from streamviz.records.aggregation import lint
from streamviz.records.columns import as_array
from streamviz.records.moments import as_microseconds
from streamviz.records.runs import RUN, StoredChunk, chunks_in
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.stalling import INSERT as INSERT_STALL
from streamviz.records.writer.stalling import stall_rows

# Of longer streams the beginning is read: storing waits meanwhile.
MOST_CHUNKS = 20_000
ENDED = """
SELECT id, wire_format, outcome, chunk_count, requested_at FROM records_stream
WHERE id = ANY(%s) AND outcome <> '' AND wire_format = ANY(%s)
"""
RUNS = """
SELECT stream_id, first_seq, first_at, offsets, lengths, payload FROM records_upstreamrun
WHERE stream_id = ANY(%s) ORDER BY stream_id, first_seq LIMIT %s
"""
INSERT = """
INSERT INTO records_lintnote (stream_id, rule, seq, times, at, provider, model)
SELECT id, %s, %s, %s, requested_at, provider, requested_model FROM records_stream WHERE id = %s ON CONFLICT DO NOTHING
"""


class _Ended(NamedTuple):
    """A row of ENDED."""

    id: UUID
    wire_format: str
    outcome: str
    chunk_count: int
    requested_at: datetime


def write_lint_notes(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Of the streams that ended, whose chunks are stored."""
    closed = {batch.stream_id: batch.closed for batch in batches if batch.closed}
    if not closed:
        return
    rows, waits = [], []
    ended = [_Ended(*row) for row in cursor.execute(ENDED, [as_array(closed), list(LINTERS)]).fetchall()]
    for stream, chunks in _with_chunks(cursor, ended, batches):
        is_whole = stream.outcome == Outcome.COMPLETED and stream.chunk_count <= MOST_CHUNKS
        notes = lint(stream.wire_format, chunks, is_whole)
        rows += [(note.rule, note.seq, note.times, stream.id) for note in notes]
        times = [chunk.received_at for chunk in chunks]
        waits += stall_rows(closed[stream.id], as_microseconds(stream.requested_at), times)
    for statement, values in ((INSERT, rows), (INSERT_STALL, waits)):
        if values:
            cursor.executemany(statement, values)


def _with_chunks(
    cursor: psycopg.Cursor, ended: Sequence[_Ended], batches: Sequence[Batch]
) -> Iterator[tuple[_Ended, Sequence[StoredChunk]]]:
    """What was stored now is at hand; of a stream that has more than that, all is read again."""
    new = {batch.stream_id: batch.chunks for batch in batches}
    others = []
    for stream in ended:
        chunks = [chunk for piece in new[stream.id] for chunk in piece.stored()]
        if len(chunks) == stream.chunk_count <= MOST_CHUNKS:
            yield stream, chunks
        else:
            others.append(stream)
    for streams in _together(others):
        stored = _chunks(cursor, streams)
        yield from ((stream, stored[stream.id]) for stream in streams)


def _together(ended: Sequence[_Ended]) -> Iterator[list[_Ended]]:
    """Streams whose chunks are read at once: as many as have MOST_CHUNKS between them, or a longer one alone."""
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
    chunks: dict[UUID, list[StoredChunk]] = {stream.id: [] for stream in streams}
    most = MOST_CHUNKS // RUN if len(streams) == 1 else MOST_CHUNKS
    for stream_id, *run in cursor.execute(RUNS, [as_array(chunks), most], binary=True).fetchall():
        chunks[stream_id] += chunks_in(*run)
    return chunks
