"""Read lists and figures from a streaming replica, if DATABASE_REPLICA_URL names one and it keeps up.

Within `reading()`, Django's models and `queries.rows` query the replica; everything else, and every write, uses the
primary.
"""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from threading import Lock, Timer
from typing import Any, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, ProgrammingError, connections

T = TypeVar("T")
# A cluster's identifier, and the name of a database in it.
Whose = tuple[str, str]

log = logging.getLogger(__name__)

ALIAS = "replica"
MOST_LAG_SECONDS = 30
# How long a finding holds: a replica that keeps up is checked again sooner than one that does not answer.
FRESH_SECONDS = 2
AWAY_SECONDS = 10
# When we give up on a statement. Postgres ends slow ones sooner (`queries.rows.SECONDS`), but not if it hangs.
ASKING_SECONDS, READING_SECONDS = 2.0, 8.0
_SAID_EACH_SECONDS = 60
# A replica that has replayed everything it received is up to date, however long ago the last transaction was, as long
# as it is still receiving.
_REPLAYED = """
SELECT pg_is_in_recovery(),
    pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT FROM pg_stat_wal_receiver),
    pg_last_xact_replay_timestamp()
"""
# By the primary's clock, which also timed that transaction.
_SINCE = "SELECT extract(epoch FROM clock_timestamp() - %s)::float8"
# What a replica shares with its own primary: a replica of another one, or of another database there, may have the same
# tables.
_WHOSE = "SELECT system_identifier::text, current_database() FROM pg_control_system()"

_alias: ContextVar[str] = ContextVar("database_alias", default=DEFAULT_DB_ALIAS)


def alias() -> str:
    """The database that reads use here."""
    return _alias.get()


@contextmanager
def reading() -> Iterator[None]:
    """Read from the replica within this context."""
    before = _alias.set(ALIAS)
    try:
        yield
    finally:
        _alias.reset(before)


def is_set() -> bool:
    """Whether a replica is configured."""
    return ALIAS in settings.DATABASES


@contextmanager
def answering_within(seconds: float) -> Iterator[None]:
    """Break off the replica's connection if a statement takes longer, which then raises an error."""
    with connections[ALIAS].execute_wrapper(partial(_watched, seconds)):
        yield


def _watched(
    seconds: float, execute: Callable[..., Any], sql: str, values: Any, many: bool, context: dict[str, Any]
) -> Any:
    timer = Timer(seconds, _break_off, [context["connection"].connection])
    timer.daemon = True
    timer.start()
    try:
        return execute(sql, values, many, context)
    finally:
        timer.cancel()


def _break_off(connection: Any) -> None:
    """The driver waits for its socket without limit, but notices when it is shut down."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as held:
        held.shutdown(socket.SHUT_RDWR)


class Router:
    """Django's database router: reads go where `alias` says, writes and migrations to the primary."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Always explicit: otherwise Django would ask the replica for what an object from it refers to."""
        return alias()

    def db_for_write(self, model: Any, **hints: Any) -> str:
        """The primary."""
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        """Always: both databases have the same rows."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Not on the replica, which gets migrations from the primary."""
        return db != ALIAS


class Health:
    """What this process last found out about the replica. One thread checks it; the others go by the last result."""

    def __init__(self) -> None:
        self.lag: float | None = None  # seconds
        self.trouble = "not asked yet"  # why nothing is read from it; "" where it is
        self._primary: Whose | None = None
        self._asking = Lock()
        self._ask_after = 0.0
        self._say_after = 0.0

    def is_usable(self) -> bool:
        """Whether pages can be read from the replica; may query it, so it is not for the event loop."""
        if time.monotonic() >= self._ask_after and self._asking.acquire(blocking=False):
            try:
                self._ask()
            finally:
                self._asking.release()
        return not self.trouble

    def failed(self, error: Exception) -> None:
        """Note that a page could not be read from the replica, so that others do not try for a while."""
        self._found(None, _first_line(error))

    def _ask(self) -> None:
        try:
            with answering_within(ASKING_SECONDS):
                with connections[ALIAS].cursor() as cursor:
                    cursor.execute(_REPLAYED)
                    is_replica, is_level, replayed_at = cursor.fetchone()
                lag = _lag(is_level, replayed_at)
                is_ours = self._is_ours()
        except (DatabaseError, InterfaceError) as error:
            connections[ALIAS].close()
            self._found(None, _first_line(error))
            return
        self._found(lag, _why_not(is_replica, lag) or ("" if is_ours else "it is a replica of another database"))

    def _is_ours(self) -> bool:
        """Whether the replica follows our primary, which is asked once, and again if they seem to differ."""
        its = _whose(ALIAS)
        if its != self._primary:
            self._primary = _whose(DEFAULT_DB_ALIAS)
        return its == self._primary

    def _found(self, lag: float | None, trouble: str) -> None:
        now = time.monotonic()
        self.lag, self.trouble = lag, trouble
        self._ask_after = now + (AWAY_SECONDS if trouble else FRESH_SECONDS)
        if trouble and now >= self._say_after:
            self._say_after = now + _SAID_EACH_SECONDS
            log.warning("Lists are read from the primary and not from DATABASE_REPLICA_URL: %s", trouble)


def _lag(is_level: bool | None, replayed_at: datetime | None) -> float | None:
    """How many seconds the replica is behind; None if it has replayed nothing."""
    if is_level or replayed_at is None:
        return 0.0 if is_level else None
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_SINCE, [replayed_at])
        return max(0.0, cursor.fetchone()[0])


def _whose(database: str) -> Whose | None:
    """Which Postgres, and which database in it; None if this user may not ask."""
    try:
        with connections[database].cursor() as cursor:
            cursor.execute(_WHOSE)
            cluster, name = cursor.fetchone()
            return cluster, name
    except ProgrammingError:
        return None


def _why_not(is_replica: bool, lag: float | None) -> str:
    if not is_replica:
        return "it is not a replica"
    if lag is None:
        return "it has replayed nothing yet"
    return f"it is {lag:.0f} s behind" if lag > MOST_LAG_SECONDS else ""


def _first_line(error: Exception) -> str:
    """The driver's message, without the password, which it contains only if it repeats a connection string."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    password = settings.DATABASES.get(ALIAS, {}).get("PASSWORD")
    return line.replace(password, "***") if password else line


health = Health()


def read(ask: Callable[[], T]) -> T:
    """The result of `ask`, from the replica if it is usable, otherwise from the primary. `ask` may be called twice. Not
    for the event loop."""
    if is_set() and health.is_usable():
        try:
            with reading(), answering_within(READING_SECONDS):
                return ask()
        except (DatabaseError, InterfaceError) as error:  # away, ended by what it replays, or behind a migration
            health.failed(error)
    return ask()
