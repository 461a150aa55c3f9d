"""Entries to record, and plain SQL to check the results."""

from collections.abc import Callable, Collection, Iterator
from datetime import date
from typing import Any

import psycopg
import pytest

from streamviz.records.database import conninfo
from streamviz.records.partitions import RUNS, STREAMS, make_days
from tests.e2e.proxied import until
from tests.records.history import day
from tests.records.support import close_journals

Query = Callable[..., list[tuple[Any, ...]]]


WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
# Partitions, attached or not, without any of the given days: one of a week is named after its Monday.
DAYS = """
SELECT relname FROM pg_class WHERE relname ~ '^records_[a-z]+_[0-9]{8}$' AND relkind = 'r' AND relname <> ALL (ARRAY(
    SELECT p.child FROM unnest(%s::text[]) AS parent, streamviz_partitions(parent) AS p, unnest(%s::date[]) AS day
    WHERE p.first <= day AND day < p.behind
))
"""
# The days of most tests' streams: creating and dropping their partitions takes longer than most tests.
USUAL_DAYS = [day(days_ago).date() for days_ago in (1, 0)]


@pytest.fixture(autouse=True)
def no_journal_is_left_open() -> Iterator[None]:
    """Close the journals that a test left open."""
    yield
    close_journals()


@pytest.fixture(scope="session")
def connected(django_db_setup: None) -> Iterator[psycopg.Connection]:
    """A connection separate from Django's."""
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def query(transactional_db: None, connected: psycopg.Connection) -> Iterator[Query]:
    """Run SQL on a separate connection and return all rows; it sees what others have committed.

    The usual days have partitions. Partitions of other days that a test creates are dropped at its end.
    """

    def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = connected.execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    make_days(connected, USUAL_DAYS)
    drop_days(run, USUAL_DAYS)  # others, created by tests without this fixture
    yield run
    drop_days(run, USUAL_DAYS)
    connected.execute("RESET ALL")
    connected.execute("SELECT pg_advisory_unlock_all()")


def drop_days(query: Query, kept: Collection[date] = ()) -> None:
    """Drop the partitions of days, except those that contain any of these."""
    for (name,) in query(DAYS, [*RUNS, *STREAMS], list(kept)):
        query(f"DROP TABLE {name}")


def wait_for_a_lock(query: Query) -> None:
    """Wait until a transaction waits for a row that another has locked."""
    until(lambda: bool(query(WAITING)))
