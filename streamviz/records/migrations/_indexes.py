"""Indexes of partitioned tables, made while others write: a partition at a time, and none of them locked."""

from collections.abc import Callable
from typing import Any

# Those that have no part of the index yet. What is attached meanwhile brings its own.
_WITHOUT = """
SELECT inhrelid::regclass::text FROM pg_inherits AS partition
WHERE inhparent = %s::regclass AND NOT EXISTS (
    SELECT FROM pg_index JOIN pg_inherits AS part ON part.inhrelid = indexrelid
    WHERE indrelid = partition.inhrelid AND part.inhparent = %s::regclass
) ORDER BY 1
"""


def add(name: str, table: str, definition: str) -> Callable[[Any, Any], None]:
    """The step of a migration that is not atomic. A try that was given up is gone on with."""

    def run(_: Any, editor: Any) -> None:
        with editor.connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX IF NOT EXISTS {name} ON ONLY {table} {definition}")
            cursor.execute(_WITHOUT, [table, name])
            for (partition,) in cursor.fetchall():
                _add_part(cursor, name, partition, definition)

    return run


def drop(name: str) -> Callable[[Any, Any], None]:
    """The step back."""

    def run(_: Any, editor: Any) -> None:
        editor.execute(f"DROP INDEX IF EXISTS {name}")

    return run


def _add_part(cursor: Any, name: str, partition: str, definition: str) -> None:
    part = f"{name}_{partition}"
    # In a transaction nothing can be made while others write; a new database has no others.
    how = "" if cursor.db.in_atomic_block else "CONCURRENTLY"
    # One that was given up is there, and of no use.
    cursor.execute(f"DROP INDEX {how} IF EXISTS {part}")
    cursor.execute(f"CREATE INDEX {how} {part} ON {partition} {definition}")
    cursor.execute(f"ALTER INDEX {name} ATTACH PARTITION {part}")
