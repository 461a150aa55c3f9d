"""Entries to record, and plain SQL to see what became of them."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from streamviz.records.database import conninfo
from tests.e2e.proxied import until

Query = Callable[..., list[tuple[Any, ...]]]


WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
DAYS = "SELECT relname FROM pg_class WHERE relname ~ '^records_[a-z]+_[0-9]{8}$' AND relkind = 'r'"


@pytest.fixture
def query(transactional_db: None) -> Iterator[Query]:
    """Run SQL on a connection of the test's own and give all rows; it sees what others have committed.

    Days' partitions that a test makes do not outlive it.
    """
    with psycopg.connect(conninfo(), autocommit=True) as connection:

        def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

        yield run
        for (name,) in run(DAYS):
            run(f"DROP TABLE {name}")


def wait_for_a_lock(query: Query) -> None:
    """Until somebody waits for a row that another transaction has locked."""
    until(lambda: bool(query(WAITING)))
