"""Reserve what a stream may use before it begins, and settle it when it is over, across all workers."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import LiteralString, NamedTuple, TypeVar

import psycopg
from psycopg.rows import class_row

from streamviz.core.context import SessionCounts

T = TypeVar("T")
Connection = psycopg.AsyncConnection[tuple[object, ...]]

log = logging.getLogger(__name__)

# A client is waiting meanwhile.
RESERVE_SECONDS = 5.0
RETRY_SECONDS = 1.0
_COUNT_SECONDS = 2.0
# Reservations that a worker has not renewed for two minutes count as those of a worker that is gone
# (streamviz_reserve).
RENEW_SECONDS = 20.0

_RESERVE = "SELECT * FROM streamviz_reserve(%s, %s, %s, %s, %s, %s)"
# What the record has of a key in a period, from before it was counted; requests that were denied are no streams: these
# never went upstream, so they have neither chunks nor a count of tokens. Uses the index stream_of_key.
_BEGIN = """
INSERT INTO records_sessiontally
    (session_id, began_at, touched_at, streams, blocks, tool_calls, output_tokens, cost, is_estimate, unpriced)
SELECT %(tally)s, %(since)s, now(), count(*) FILTER (
        WHERE stream.outcome <> 'halted' OR stream.chunk_count > 0 OR stream.output_tokens IS NOT NULL
    ),
    coalesce(sum(stream.block_count), 0), coalesce(sum(told.calls), 0),
    coalesce(sum(coalesce(stream.output_tokens, told.length / 4)), 0), coalesce(sum(stream.cost), 0),
    coalesce(bool_or(stream.output_tokens IS NULL AND stream.block_count > 0), false), 0
FROM records_stream AS stream CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE kind = 'tool_call') AS calls, coalesce(sum(length), 0) AS length
    FROM records_block WHERE stream_id = stream.id
) AS told
WHERE stream.key_id = %(key)s AND stream.requested_at >= %(since)s AND stream.outcome <> ''
ON CONFLICT DO NOTHING
"""
_IS_BEGUN = "SELECT FROM records_sessiontally WHERE session_id = %s"
_SETTLE = "SELECT streamviz_settle(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_RENEW = "UPDATE records_reservation SET seen_at = now() WHERE worker = %s"
# A session that comes back later is counted from the record again; a key's month has up to 31 days.
_FORGET = (
    "DELETE FROM records_sessiontally WHERE touched_at < now() - interval '32 days'",
    # Left by killed workers, where nothing was reserved since to replace them; the record has those streams.
    "DELETE FROM records_reservation WHERE seen_at < now() - interval '32 days'",
)


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a stream may use: tokens that the model writes, and US dollars; None is unlimited."""

    output_tokens: int | None
    cost: float | None


class OfKey(NamedTuple):
    """A key's use within an hour, a day or a month (`period`) that began at `since`."""

    key_id: int | None
    period: str
    since: datetime


@dataclass(slots=True, eq=False)
class _Owed:
    """What is still to be settled for a session."""

    session: uuid.UUID
    values: list[object]
    is_settled: asyncio.Event = field(default_factory=asyncio.Event)


class Tallies:
    """One worker's access to the totals of sessions."""

    def __init__(self, conninfo: Callable[[], str]) -> None:
        self._conninfo = conninfo
        self._worker = uuid.uuid4()
        self._connection: Connection | None = None
        self._has_reserved = False
        self._turn = asyncio.Lock()
        self._owed: asyncio.Queue[_Owed] = asyncio.Queue()
        self._last_owed: dict[uuid.UUID, _Owed] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Call this in the event loop. It connects only once something is reserved."""
        self._tasks = [asyncio.create_task(self._settle_owed()), asyncio.create_task(self._renew())]

    async def stop(self) -> None:
        """Try once more to settle what is owed; workers find the rest in the record later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RETRY_SECONDS):
                await self._owed.join()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._close()

    async def reserve(
        self, session: uuid.UUID, stream: uuid.UUID, amounts: Amounts, of_key: OfKey | None = None
    ) -> SessionCounts:
        """The session's totals without this stream, whose amounts are reserved from now on.

        With `of_key`, `session` is the name under which the key is counted in that period. If the database does not
        answer, the counts have `trouble` set.
        """
        self._has_reserved = True
        period = of_key.period if of_key else ""
        values: list[object] = [session, stream, self._worker, amounts.output_tokens, amounts.cost, period]
        try:
            async with asyncio.timeout(RESERVE_SECONDS):
                # A client's next request, right after an answer, must not find that answer's amounts still reserved.
                if owed := self._last_owed.get(session):
                    await owed.is_settled.wait()
                if of_key is not None:
                    await self._do(lambda connection: _begin(connection, session, of_key))
                return await self._do(lambda connection: _reserve(connection, values))
        except (psycopg.Error, OSError, TimeoutError) as error:
            log.warning("session totals are unavailable: %s", error)
            return SessionCounts(trouble="the session totals are not known: the database does not answer")

    def settle(self, session: uuid.UUID, stream: uuid.UUID, spent: SessionCounts, period: str = "") -> None:
        """The stream is over and used this much. Nobody waits for it. `session` and `period` are as in `reserve`."""
        amounts = [spent.streams, spent.blocks, spent.tool_calls, spent.output_tokens, spent.cost]
        owed = _Owed(session, [session, stream, *amounts, spent.is_estimate, spent.unpriced, period])
        self._last_owed[session] = owed
        self._owed.put_nowait(owed)

    async def _settle_owed(self) -> None:
        """In order, so that once a session's last entry is settled, all of its entries are."""
        while True:
            owed = await self._owed.get()
            await self._insist(_SETTLE, owed.values)
            owed.is_settled.set()
            if self._last_owed.get(owed.session) is owed:
                del self._last_owed[owed.session]
            self._owed.task_done()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if self._has_reserved:  # even if the connection has been lost since
                await self._insist(_RENEW, [self._worker])
                for forget in _FORGET:
                    await self._insist(forget, [])

    async def _insist(self, statement: LiteralString, values: list[object]) -> None:
        while True:
            try:
                return await self._execute(statement, values)
            except (psycopg.Error, OSError):
                await asyncio.sleep(RETRY_SECONDS)

    async def _execute(self, statement: LiteralString, values: list[object]) -> None:
        async def run(connection: Connection) -> None:
            await connection.execute(statement, values)

        await self._do(run)

    async def _do(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """One at a time. A connection on which something failed, or that was given up, is not used again."""
        async with self._turn:
            try:
                if self._connection is None:
                    self._connection = await psycopg.AsyncConnection.connect(
                        self._conninfo(), autocommit=True, prepare_threshold=None
                    )
                return await work(self._connection)
            except BaseException:
                await self._close()
                raise

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error, OSError):
                await connection.close()


async def _begin(connection: Connection, tally: uuid.UUID, of_key: OfKey) -> None:
    """Count what the key has used, unless that is counted already. A client does not wait long for this: if it takes
    too long, counting starts from now."""
    if await (await connection.execute(_IS_BEGUN, [tally])).fetchone() is not None:
        return
    told = {"tally": tally, "key": of_key.key_id, "since": of_key.since}
    try:
        async with connection.transaction():
            await connection.execute("SELECT set_config('statement_timeout', %s, true)", [f"{_COUNT_SECONDS}s"])
            await connection.execute(_BEGIN, told)
    except psycopg.errors.QueryCanceled:
        log.warning("a key has made too many streams in this %s to count: its limit starts from now", of_key.period)


async def _reserve(connection: Connection, values: list[object]) -> SessionCounts:
    cursor = connection.cursor(row_factory=class_row(SessionCounts))
    await cursor.execute(_RESERVE, values)
    counts = await cursor.fetchone()
    assert counts is not None  # the function gives one row
    return counts
