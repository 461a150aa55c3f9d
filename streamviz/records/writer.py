"""The writer: moves what the relay recorded into Postgres, in batches, off the client's path."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID

import psycopg

from streamviz.records import rows
from streamviz.records import writer_sql as sql
from streamviz.records.recorder import ChunksReceived, Entry, FramesSent, StreamClosed, StreamOpened

log = logging.getLogger(__name__)

# Long enough that a run holds some tens of chunks at a model's usual pace.
FLUSH_SECONDS = 1.0
RETRY_SECONDS = 1.0


class Writer:
    """A Recorder whose entries are in Postgres about a second later, and at once when a stream ends.

    While Postgres is away entries wait in memory and are tried again; no stream waits for them.
    """

    def __init__(self, conninfo: Callable[[], str]) -> None:
        self._conninfo = conninfo
        self._entries: list[Entry] = []
        self._wake = asyncio.Event()
        self._connection: psycopg.AsyncConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_stopping = False

    @property
    def backlog(self) -> int:
        """How many entries are not yet in Postgres."""
        return len(self._entries)

    def append(self, entry: Entry) -> None:
        self._entries.append(entry)
        if isinstance(entry, StreamClosed):
            self._wake.set()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="writer")

    async def stop(self) -> None:
        """Write what is left, then end."""
        self._is_stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        await self._disconnect()

    async def _run(self) -> None:
        while not (self._is_stopping and not self._entries):
            if not self._is_stopping:
                await self._next_flush()
            await self._flush()

    async def _next_flush(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), FLUSH_SECONDS)
        self._wake.clear()

    async def _flush(self) -> None:
        entries, self._entries = self._entries, []
        if not entries:
            return
        try:
            await self._write(entries)
        except (psycopg.OperationalError, OSError) as error:
            log.warning("Postgres cannot be written to, %d entries wait: %s", len(entries), error)
            self._entries = entries + self._entries
            await self._disconnect()
            await asyncio.sleep(RETRY_SECONDS)
        except Exception:  # Refused by Postgres or by the driver: what is in it comes from strangers.
            await self._write_apart(entries)

    async def _write_apart(self, entries: Sequence[Entry]) -> None:
        """A batch cannot be stored for what is in it: write stream by stream, so that only the one at fault is lost."""
        by_stream: defaultdict[UUID, list[Entry]] = defaultdict(list)
        for entry in entries:
            by_stream[_stream_of(entry)].append(entry)
        for stream_id, own in by_stream.items():
            try:
                await self._write(own)
            except (psycopg.OperationalError, OSError):
                self._entries = own + self._entries
            except Exception as error:
                log.exception("stream %s cannot be stored: %s", stream_id, type(error).__name__)

    async def _write(self, entries: Sequence[Entry]) -> None:
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._connection = await psycopg.AsyncConnection.connect(self._conninfo(), autocommit=True)
        async with connection.transaction(), connection.cursor() as cursor:
            for statement, values in statements(entries):
                await cursor.executemany(statement, values)

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _stream_of(entry: Entry) -> UUID:
    return entry.id if isinstance(entry, StreamOpened | StreamClosed) else entry.stream_id


def statements(entries: Sequence[Entry]) -> list[tuple[str, list[rows.Row]]]:
    """What is to be run for `entries`, in an order that satisfies the foreign keys."""
    opened = [entry for entry in entries if isinstance(entry, StreamOpened)]
    closed = [entry for entry in entries if isinstance(entry, StreamClosed)]
    chunks: defaultdict[UUID, list[ChunksReceived]] = defaultdict(list)
    frames: defaultdict[UUID, list[FramesSent]] = defaultdict(list)
    for entry in entries:
        if isinstance(entry, ChunksReceived):
            chunks[entry.stream_id].append(entry)
        elif isinstance(entry, FramesSent):
            frames[entry.stream_id].append(entry)
    upstream = [
        row
        for stream_id, batches in chunks.items()
        for row in rows.upstream_runs(stream_id, [chunk for batch in batches for chunk in batch.chunks])
    ]
    client = [row for stream_id, batches in frames.items() for row in rows.client_runs(stream_id, batches)]
    everything = [
        (sql.UPSERT_SESSION, [rows.session_row(entry) for entry in opened]),
        (sql.INSERT_STREAM, [rows.opened_row(entry) for entry in opened]),
        (sql.INSERT_UPSTREAM_RUN, upstream),
        (sql.INSERT_CLIENT_RUN, client),
        (sql.INSERT_BLOCK, [rows.block_row(entry.id, block) for entry in closed for block in entry.blocks]),
        (sql.INSERT_VERDICT, [rows.verdict_row(entry.id, verdict) for entry in closed for verdict in entry.verdicts]),
        (sql.CLOSE_STREAM, [rows.closed_row(entry) for entry in closed]),
    ]
    return [(statement, values) for statement, values in everything if values]
