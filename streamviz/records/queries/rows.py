"""Running hand-written SQL on Django's connection."""

from collections.abc import Mapping
from typing import Any

from django.db import connection


def rows(statement: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
    return found
