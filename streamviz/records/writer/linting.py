"""Noting what upstream sent that its format does not allow, once a stream is stored."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import psycopg

from streamviz.core.lint import LINTERS
from streamviz.core.outcome import Outcome
from streamviz.records.aggregation import lint
from streamviz.records.runs import RUN, StoredChunk, chunks_in
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.statements import UPSTREAM_RUNS

# Of longer streams the beginning is read: storing waits meanwhile.
MOST_CHUNKS = 20_000
ENDED = "SELECT id, wire_format, outcome, chunk_count FROM records_stream WHERE id = ANY(%s) AND outcome <> ''"
INSERT = """
INSERT INTO records_lintnote (stream_id, rule, seq, times, at, provider, model)
SELECT id, %s, %s, %s, requested_at, provider, requested_model FROM records_stream WHERE id = %s ON CONFLICT DO NOTHING
"""


def write_lint_notes(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Of the streams that ended, whose chunks are stored."""
    closed = [batch.stream_id for batch in batches if batch.closed]
    if not closed:
        return
    rows = []
    for stream_id, wire_format, outcome, chunk_count in cursor.execute(ENDED, [closed]).fetchall():
        if wire_format in LINTERS:
            is_whole = outcome == Outcome.COMPLETED and chunk_count <= MOST_CHUNKS
            notes = lint(wire_format, list(_chunks(cursor, stream_id)), is_whole)
            rows += [(note.rule, note.seq, note.times, stream_id) for note in notes]
    if rows:
        cursor.executemany(INSERT, rows)


def _chunks(cursor: psycopg.Cursor, stream_id: UUID) -> Iterator[StoredChunk]:
    for run in cursor.execute(f"{UPSTREAM_RUNS} LIMIT {MOST_CHUNKS // RUN}", [stream_id]).fetchall():
        yield from chunks_in(*run)
