"""Run hand-written SQL on Django's connection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import OperationalError, connections, transaction

from streamviz.records import replica

# A search over everything can take long, however it is done; it is given up after this long.
SECONDS = 5
# A page's statements are short: compiling them, or starting processes for them, would take as long as some of them do,
# and streams need the cores too.
_SOON = ("jit = off", "max_parallel_workers_per_gather = 0")
# How long a query is tried whose result can also be had in another, less exact way.
BRIEFLY = 0.1


class SearchTooBroad(Exception):
    """The query was given up after SECONDS: more or rarer words, or a shorter time, would help."""


def rows(statement: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connections[replica.alias()].cursor() as cursor:
        cursor.execute(statement, values)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
    return found


def long_rows(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The same for long bytes and arrays, which take half the time in the driver's binary format."""
    connection = connections[replica.alias()]
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return cursor.execute(statement, values, binary=True).fetchall()


@contextmanager
def planned(*settings: str) -> Iterator[None]:
    """Postgres plans and runs the statements within under these settings, such as `enable_seqscan = off`."""
    with transaction.atomic(using=replica.alias()):
        rows("; ".join(f"SET LOCAL {each}" for each in (*_SOON, *settings)))
        yield


@contextmanager
def limited(*settings: str, seconds: float | None = None) -> Iterator[None]:
    """Like `planned`, with each statement limited to `seconds`, SECONDS by default. Raises SearchTooBroad; inside an
    outer `planned` or `limited`, further statements can then follow, under the outer limit."""
    [(before,)] = rows("SHOW statement_timeout")
    try:
        with planned(f"statement_timeout = '{SECONDS if seconds is None else seconds}s'", *settings):
            yield
            rows(f"SET LOCAL statement_timeout = '{before}'")  # or this limit would apply to what comes next
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise SearchTooBroad from error
        raise
