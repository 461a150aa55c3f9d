"""Running hand-written SQL on Django's connection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction


def rows(statement: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
    return found


@contextmanager
def planned(*settings: str) -> Iterator[None]:
    """Postgres plans and runs what is asked within under these settings, such as `enable_seqscan = off`."""
    with transaction.atomic():
        rows("; ".join(f"SET LOCAL {each}" for each in settings))
        yield
