"""What sessions and keys have used, across all workers: a limited stream is entered before it begins, and settled when
it is over."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, LiteralString, NamedTuple, TypeVar

import psycopg

from streamviz.core.context import SessionCounts
from streamviz.core.model_names import model_names
from streamviz.core.policy_settings import CallScope

T = TypeVar("T")
Connection = psycopg.AsyncConnection[tuple[object, ...]]

log = logging.getLogger(__name__)

# A client is waiting meanwhile.
RESERVE_SECONDS = 5.0
RETRY_SECONDS = 1.0
# What a worker has not renewed for two minutes is that of a worker that is gone (streamviz_enter).
RENEW_SECONDS = 20.0
SESSION = ""

_ENTER = "SELECT * FROM streamviz_enter(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_SETTLE = """
UPDATE records_use SET is_over = true, seen_at = now(), blocks = %s, tool_calls = %s, output_tokens = %s, cost = %s,
    is_estimate = %s, unpriced = %s
WHERE stream_id = %s
"""
_STRIKE = "DELETE FROM records_use WHERE stream_id = %s"
# The writer, which deletes entries, waits for nobody who waits for it.
_RENEW = """
UPDATE records_use SET seen_at = now() WHERE stream_id IN (
    SELECT stream_id FROM records_use WHERE worker = %s AND NOT is_over FOR UPDATE SKIP LOCKED
)
"""
# What the record never got the end of: a key's month has up to 31 days.
_FORGET = "DELETE FROM records_use WHERE seen_at < now() - interval '32 days'"


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a stream may use: tokens that the model writes, and US dollars; None is unlimited."""

    output_tokens: int | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A stream, as limits count it. `other_names` are those of its model that neither its client nor its provider uses;
    `is_unread` says that nothing reads which model it calls."""

    stream: uuid.UUID
    session: uuid.UUID
    key: int | None
    began_at: datetime
    requested_model: str
    provider: str
    upstream_model: str
    other_names: tuple[str, ...]
    is_unread: bool


class Period(NamedTuple):
    """From when to when a stream begins that counts: the first moment, and the first after it. None is any time."""

    since: datetime | None = None
    until: datetime | None = None


Periods = Mapping[str, Period]


class Used(NamedTuple):
    """What the streams came to that called one model with one key: of a session (`period` is SESSION), or of a key in
    a period."""

    period: str
    key_name: str
    models: tuple[str, ...]
    is_unread: bool
    counts: SessionCounts

    def counts_for(self, scope: CallScope) -> bool:
        """Whether these calls are in a scope. What nothing reads is in that of all models; what is not known is in
        all scopes."""
        is_in_scope = scope.has_key(self.key_name) and (self.is_unread or scope.has_model(self.models))
        return is_in_scope or bool(self.counts.trouble)


@dataclass(slots=True, eq=False)
class _Owed:
    """What is still to be settled, and of whom: a session, and a key."""

    whose: tuple[object, ...]
    statement: LiteralString
    values: list[object]
    is_settled: asyncio.Event = field(default_factory=asyncio.Event)


class Tallies:
    """One worker's access to what sessions and keys have used. `worker` is its journal's name: once that is stored to
    its end, the writer strikes what a worker that died left running."""

    def __init__(self, conninfo: Callable[[], str]) -> None:
        self._conninfo = conninfo
        self.worker = uuid.uuid4()
        self._connection: Connection | None = None
        self._has_entered = False
        self._turn = asyncio.Lock()
        self._owed: asyncio.Queue[_Owed] = asyncio.Queue()
        self._last_owed: dict[object, _Owed] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Call this in the event loop. It connects only once a stream is entered."""
        self._tasks = [asyncio.create_task(self._settle_owed()), asyncio.create_task(self._renew())]

    async def stop(self) -> None:
        """Try once more to settle what is owed; the rest holds as it was reserved until the record has it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RETRY_SECONDS):
                await self._owed.join()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._close()

    async def enter(self, entry: Entry, amounts: Amounts, periods: Periods) -> list[Used]:
        """What the stream's session (SESSION) or its key has used in these periods, by model, without this stream,
        whose amounts are reserved from now on.

        If the database does not answer, the counts have `trouble` set.
        """
        self._has_entered = True
        values = _values(entry, self.worker, amounts, periods)
        try:
            async with asyncio.timeout(RESERVE_SECONDS):
                # A client's next request, right after an answer, must not find that answer's amounts still reserved.
                for whose in _whose(entry.session, entry.key):
                    if owed := self._last_owed.get(whose):
                        await owed.is_settled.wait()
                return await self._do(lambda connection: _enter(connection, values))
        except (psycopg.Error, OSError, TimeoutError) as error:
            log.warning("what sessions and keys have used is not known: %s", error)
            trouble = "the totals of sessions and keys are not known: the database does not answer"
            return [Used(period, "", (), True, SessionCounts(trouble=trouble)) for period in periods]

    def settle(self, stream: uuid.UUID, session: uuid.UUID, key: int | None, spent: SessionCounts) -> None:
        """The stream is over and used this much; nothing if it does not count. Nobody waits for it."""
        used: list[object] = [spent.blocks, spent.tool_calls, spent.output_tokens, spent.cost]
        values = [*used, spent.is_estimate, spent.unpriced, stream] if spent.streams else [stream]
        owed = _Owed(_whose(session, key), _SETTLE if spent.streams else _STRIKE, values)
        self._last_owed |= dict.fromkeys(owed.whose, owed)
        self._owed.put_nowait(owed)

    async def _settle_owed(self) -> None:
        """In order, so that once the last of a session's, or a key's, is settled, all are."""
        while True:
            owed = await self._owed.get()
            await self._insist(owed.statement, owed.values)
            owed.is_settled.set()
            for whose in owed.whose:
                if self._last_owed.get(whose) is owed:
                    del self._last_owed[whose]
            self._owed.task_done()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if self._has_entered:  # even if the connection has been lost since
                await self._insist(_RENEW, [self.worker])
                await self._insist(_FORGET, [])

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


def _whose(session: uuid.UUID, key: int | None) -> tuple[object, ...]:
    return (session,) if key is None else (session, key)


def _values(entry: Entry, worker: uuid.UUID, amounts: Amounts, periods: Periods) -> list[object]:
    called = [entry.requested_model, entry.provider, entry.upstream_model, list(entry.other_names), entry.is_unread]
    begun = [entry.stream, entry.session, entry.key, entry.began_at, *called]
    bounds = [[each[n] for each in periods.values()] for n in range(2)]
    return [*begun, worker, amounts.output_tokens, amounts.cost, list(periods), *bounds]


async def _enter(connection: Connection, values: list[object]) -> list[Used]:
    return [_used(row) for row in await (await connection.execute(_ENTER, values)).fetchall()]


def _used(row: Sequence[Any]) -> Used:
    period, key_name, asked, provider, model, others, is_unread, *counts = row
    names = (*model_names(asked, provider, model), *others)
    return Used(period, key_name, names, is_unread, SessionCounts(*counts))
