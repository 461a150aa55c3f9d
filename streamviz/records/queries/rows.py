"""Running hand-written SQL on Django's connection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import OperationalError, connections, transaction

from streamviz.records import replica

# What a person asks for of all that there is can take long, however it is done; it is given up then.
SECONDS = 5
# What can be told in another way, if not as well, is tried for so long (ms).
BRIEFLY = 100


class SearchTooBroad(Exception):
    """What was asked for was given up after SECONDS: more, or rarer, words or less time would help."""


def rows(statement: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connections[replica.alias()].cursor() as cursor:
        cursor.execute(statement, values)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
    return found


@contextmanager
def planned(*settings: str) -> Iterator[None]:
    """Postgres plans and runs what is asked within under these settings, such as `enable_seqscan = off`."""
    with transaction.atomic(using=replica.alias()):
        rows("; ".join(f"SET LOCAL {each}" for each in settings))
        yield


@contextmanager
def limited(*settings: str) -> Iterator[None]:
    """The same, for SECONDS at most. Raises SearchTooBroad."""
    with _given_up(), planned(f"statement_timeout = '{SECONDS}s'", *settings):
        yield


@contextmanager
def briefly() -> Iterator[None]:
    """What is asked within, in a plan of its own (`planned`), is given up after BRIEFLY ms: that raises SearchTooBroad,
    and more can be asked then."""
    [(before,)] = rows("SHOW statement_timeout")
    with _given_up(), planned(f"statement_timeout = {BRIEFLY}"):
        yield
        rows(f"SET LOCAL statement_timeout = '{before}'")  # it would hold for what is asked next


@contextmanager
def _given_up() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise SearchTooBroad from error
        raise
