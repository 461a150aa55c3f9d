"""Running hand-written SQL on Django's connection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import OperationalError, connections, transaction

from streamviz.records import replica

# What a person asks for of all that there is can take long, however it is done; it is given up then.
SECONDS = 5
# A page's statements are soon done: to compile them, or to start processes for them, takes as long as some of them do,
# and the cores are the streams' too.
_SOON = ("jit = off", "max_parallel_workers_per_gather = 0")
# What can be told in another way, if not as well, is tried for so long.
BRIEFLY = 0.1


class SearchTooBroad(Exception):
    """What was asked for was given up after SECONDS: more, or rarer, words or less time would help."""


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
    """Postgres plans and runs what is asked within under these settings, such as `enable_seqscan = off`."""
    with transaction.atomic(using=replica.alias()):
        rows("; ".join(f"SET LOCAL {each}" for each in (*_SOON, *settings)))
        yield


@contextmanager
def limited(*settings: str, seconds: float | None = None) -> Iterator[None]:
    """The same, for SECONDS at most, or so many, a statement. Raises SearchTooBroad; within another's plan more can be
    asked then, as long as that one lets it."""
    [(before,)] = rows("SHOW statement_timeout")
    try:
        with planned(f"statement_timeout = '{SECONDS if seconds is None else seconds}s'", *settings):
            yield
            rows(f"SET LOCAL statement_timeout = '{before}'")  # this one would hold for what is asked next
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise SearchTooBroad from error
        raise
