"""Noting what upstream sent that its format does not allow, and what a stream waited for, once it is stored."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import psycopg

from streamviz.core.lint import LINTERS
from streamviz.core.outcome import Outcome
from streamviz.records.aggregation import lint
from streamviz.records.moments import as_microseconds
from streamviz.records.runs import RUN, StoredChunk, chunks_in
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.stalling import INSERT as INSERT_STALL
from streamviz.records.writer.stalling import stall_rows
from streamviz.records.writer.statements import UPSTREAM_RUNS

# Of longer streams the beginning is read: storing waits meanwhile.
MOST_CHUNKS = 20_000
ENDED = """
SELECT id, wire_format, outcome, chunk_count, requested_at FROM records_stream WHERE id = ANY(%s) AND outcome <> ''
"""
INSERT = """
INSERT INTO records_lintnote (stream_id, rule, seq, times, at, provider, model)
SELECT id, %s, %s, %s, requested_at, provider, requested_model FROM records_stream WHERE id = %s ON CONFLICT DO NOTHING
"""


def write_lint_notes(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Of the streams that ended, whose chunks are stored."""
    closed = {batch.stream_id: batch.closed for batch in batches if batch.closed}
    if not closed:
        return
    rows, waits = [], []
    for stream_id, wire_format, outcome, chunk_count, requested_at in cursor.execute(ENDED, [list(closed)]).fetchall():
        if wire_format in LINTERS:
            chunks = list(_chunks(cursor, stream_id))
            is_whole = outcome == Outcome.COMPLETED and chunk_count <= MOST_CHUNKS
            notes = lint(wire_format, chunks, is_whole)
            rows += [(note.rule, note.seq, note.times, stream_id) for note in notes]
            times = [chunk.received_at for chunk in chunks]
            waits += stall_rows(closed[stream_id], as_microseconds(requested_at), times)
    for statement, values in ((INSERT, rows), (INSERT_STALL, waits)):
        if values:
            cursor.executemany(statement, values)


def _chunks(cursor: psycopg.Cursor, stream_id: UUID) -> Iterator[StoredChunk]:
    for run in cursor.execute(f"{UPSTREAM_RUNS} LIMIT {MOST_CHUNKS // RUN}", [stream_id]).fetchall():
        yield from chunks_in(*run)
