"""Store batches in Postgres, each time in one transaction, so that what counts as stored is stored."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import groupby, zip_longest
from operator import attrgetter
from uuid import UUID

import psycopg

from streamviz.records.columns import as_array
from streamviz.records.partitions import day_of, make_days
from streamviz.records.recorder import StreamOpened
from streamviz.records.request_index import StoredRequest, write_words
from streamviz.records.tables import BLOCK, CLOSED, OPENED, SESSION, VERDICT, WHOLE, Row, Table
from streamviz.records.writer import binary, run_tables
from streamviz.records.writer import statements as sql
from streamviz.records.writer.linking import link
from streamviz.records.writer.linting import write_lint_notes
from streamviz.records.writer.pending import Batch, Stored

log = logging.getLogger(__name__)

# After a failure to create partitions, storing is not held up by another attempt for this long.
DAY_RETRY_SECONDS = 60.0


class Store:
    """A connection to Postgres, opened when needed."""

    def __init__(self, conninfo: Callable[[], str]) -> None:
        self._conninfo = conninfo
        self._connection: psycopg.Connection | None = None
        self._days: set[date] = set()
        self._days_after = float("-inf")

    @property
    def connection(self) -> psycopg.Connection:
        """Raises psycopg.OperationalError while Postgres is away."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._conninfo(), autocommit=True)
        return self._connection

    def write(self, batches: Sequence[Batch], *, brings_back: bool = False) -> list[Batch]:
        """Store what is not stored yet, and give the batches of streams whose beginning never came. Deleted streams are
        not stored, unless `brings_back` is set; then streams that are here stay as they are.

        Raises psycopg.Error, and ValueError or OverflowError for what the driver refuses; nothing is stored then.
        """
        ids = as_array(batch.stream_id for batch in batches)
        self._see_to_days({day for each in batches if (day := day_of(each.stream_id)) is not None} - self._days)
        with self.connection.transaction(), self.connection.cursor() as cursor:
            if brings_back:
                cursor.execute(sql.WAIT_FOR_IMPORTS)
            stored = {row[0]: Stored(*row[1:]) for row in cursor.execute(sql.MARKS, [ids])}
            if brings_back:
                batches = [batch for batch in batches if batch.stream_id not in stored]
                forget_deletions(cursor, batches)
            delete_late(cursor, [batch.opened for batch in batches if batch.opened and batch.stream_id not in stored])
            deleted = {row[0] for row in cursor.execute(sql.DELETED, [ids])}
            wanted = [batch for batch in batches if batch.stream_id not in deleted]
            for batch in wanted:
                if batch.stream_id in stored:
                    batch.go_on_from(stored[batch.stream_id])
            known = [batch for batch in wanted if batch.began]
            write_rows(cursor, known)
            write_request_words(cursor, known)
            copy_runs(cursor, known)
            write_lint_notes(cursor, known)
            ended = [each.stream_id for each in known if each.is_now_over and not each.was_counted]
            if ended:
                cursor.execute(sql.COUNT, [as_array(ended)])
            link(cursor, known)
            if ended:  # last, as workers that settle these wait for it
                cursor.execute(sql.STRIKE, [as_array(ended)])
        return [batch for batch in wanted if not batch.began]

    def _see_to_days(self, missing: set[date]) -> None:
        """Create a day's partition before its first row. If that fails, its rows go to the default partition, and the
        upkeep moves them later."""
        if not missing or time.monotonic() < self._days_after:
            return
        connection = self.connection
        try:
            make_days(connection, missing)
            self._days |= missing
        except psycopg.Error as error:
            if connection.closed:
                raise
            self._days_after = time.monotonic() + DAY_RETRY_SECONDS
            log.warning("cannot create the partitions of %s yet: %s", ", ".join(map(str, sorted(missing))), error)

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def forget_deletions(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Forget that these streams, and their sessions, were deleted, and note which streams were."""
    sessions = as_array(batch.opened.session_id for batch in batches if batch.opened)
    cursor.execute(sql.FORGET_SESSION_DELETIONS, [sessions])
    ids = as_array(each.stream_id for each in batches)
    deleted = {row[0] for row in cursor.execute(sql.FORGET_STREAM_DELETIONS, [ids])}
    for batch in batches:
        batch.was_counted |= batch.stream_id in deleted


def delete_late(cursor: psycopg.Cursor, opened: Sequence[StreamOpened]) -> None:
    """Record as deleted the streams among these that began before their session was deleted, or that belong to a
    deleted run."""
    if opened:
        sessions = as_array(each.session_id for each in opened)
        cursor.execute(sql.LOCK_SESSIONS, [sessions])
        ids, requested = (as_array(getattr(each, name) for each in opened) for name in ("stream_id", "requested_at"))
        cursor.execute(sql.DELETE_LATE, [ids, sessions, requested])
    if calls := [(each.stream_id, each.parent) for each in opened if each.part and each.parent]:
        told = [as_array(ids) for ids in zip(*calls, strict=True)]
        while cursor.execute(sql.DELETE_CALLS, told).rowcount:
            pass


def write_rows(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Store everything except the runs of chunks and frames."""
    whole = [batch for batch in batches if batch.is_new_and_over]
    opened = [(batch.opened, batch.worker) for batch in batches if batch.opened and not batch.is_new_and_over]
    closed = [batch.closed for batch in batches if batch.closed]
    # In the order of their ids, against deadlocks: a writer on another machine may have some of the same sessions.
    by_id = sorted((batch.opened for batch in batches if batch.opened), key=attrgetter("session_id"))
    everything: list[tuple[str, Table, list[Row]]] = [
        *(
            (sql.UPSERT_SESSION, SESSION, [SESSION.row(entry) for entry in some])
            for some in _of_different_sessions(by_id)
        ),
        (sql.INSERT_STREAM, OPENED, [OPENED.row(entry, entry.stream_id, worker) for entry, worker in opened]),
        (sql.INSERT_WHOLE_STREAM, WHOLE, [_whole_row(batch) for batch in whole]),
        (sql.INSERT_BLOCK, BLOCK, [BLOCK.row(block, entry.stream_id) for entry in closed for block in entry.blocks]),
        (
            sql.INSERT_VERDICT,
            VERDICT,
            [VERDICT.row(each, batch.stream_id) for batch in batches for each in batch.verdicts],
        ),
    ]
    for statement, table, rows in everything:
        if rows:
            cursor.execute(statement, [table.told(rows)])
    if ended := [batch.closed for batch in batches if batch.closed and not batch.is_new_and_over]:
        told = CLOSED.told(CLOSED.row(entry, entry.stream_id) for entry in ended)
        cursor.execute(sql.CLOSE_STREAM, [told, as_array(entry.stream_id for entry in ended)])
    reached = [(*batch.reached(), batch.stream_id) for batch in batches if batch.has_advanced]
    if reached:
        cursor.executemany(sql.ADVANCE_STREAM, reached)


def _whole_row(batch: Batch) -> Row:
    told = {"id": batch.stream_id, "worker": batch.worker} | OPENED.values(batch.opened) | CLOSED.values(batch.closed)
    return tuple(told[name] for name in WHOLE.names)


def _of_different_sessions(by_id: Sequence[StreamOpened]) -> Iterator[list[StreamOpened]]:
    """Groups of entries in which no two are of the same session, as no statement may write a row twice."""
    sessions = [list(entries) for _, entries in groupby(by_id, attrgetter("session_id"))]
    for several in zip_longest(*sessions):
        yield [entry for entry in several if entry is not None]


def write_request_words(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Store the searchable words of requests of streams that began. A request that is not kept has none."""
    opened = (batch.opened for batch in batches if batch.opened and batch.opened.request)
    write_words(
        cursor, [StoredRequest(each.stream_id, each.session_id, each.request, each.wire_format) for each in opened]
    )


def copy_runs(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Store the chunks and frames of these batches, none of which may be stored already."""
    upstream = [
        run_tables.UPSTREAM.row(batch.stream_id, run)
        for batch in batches
        for piece in batch.chunks
        for run in piece.runs()
    ]
    client = [
        run_tables.CLIENT.row(batch.stream_id, run)
        for batch in batches
        for piece in batch.frames
        for run in piece.runs()
    ]
    for statement, values in ((run_tables.UPSTREAM.copy(), upstream), (run_tables.CLIENT.copy(), client)):
        if values:
            with cursor.copy(statement) as copy:
                copy.write(b"".join((binary.HEADER, *values, binary.TRAILER)))


def open_streams(connection: psycopg.Connection, worker: UUID) -> list[UUID]:
    """The streams of a worker that have no end in Postgres."""
    return [row[0] for row in connection.execute(sql.OPEN_STREAMS, [worker])]
