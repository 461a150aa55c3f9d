"""Indexes of partitioned tables, whose parts are named after the whole and the partition."""

from collections.abc import Callable
from typing import Any

from django.db import migrations

# Those that have no part of the index yet. What is attached meanwhile brings its own.
_WITHOUT = """
SELECT inhrelid::regclass::text FROM pg_inherits AS partition
WHERE inhparent = %s::regclass AND NOT EXISTS (
    SELECT FROM pg_index JOIN pg_inherits AS part ON part.inhrelid = indexrelid
    WHERE indrelid = partition.inhrelid AND part.inhparent = %s::regclass
) ORDER BY 1
"""


def add(name: str, table: str, definition: str) -> Callable[[Any, Any], None]:
    """The step of a migration that is not atomic: a partition at a time, while others write. A try that was given up is
    gone on with."""

    def run(_: Any, editor: Any) -> None:
        with editor.connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX IF NOT EXISTS {name} ON ONLY {table} {definition}")
            cursor.execute(_WITHOUT, [table, name])
            for (partition,) in cursor.fetchall():
                _add_part(cursor, name, partition, definition)

    return run


def create(name: str, table: str, definition: str) -> migrations.RunSQL:
    """The operation for a table that is new, with the default partition alone."""
    part = f"{name}_{table}_default"
    return migrations.RunSQL(
        f"""
        CREATE INDEX {name} ON ONLY {table} {definition};
        CREATE INDEX {part} ON {table}_default {definition};
        ALTER INDEX {name} ATTACH PARTITION {part};
        """
    )


def drop(name: str) -> Callable[[Any, Any], None]:
    """The step that takes one away."""

    def run(_: Any, editor: Any) -> None:
        editor.execute(f"DROP INDEX IF EXISTS {name}")

    return run


def _add_part(cursor: Any, name: str, partition: str, definition: str) -> None:
    part = f"{name}_{partition}"
    # One that was given up is there, and of no use.
    cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {part}")
    cursor.execute(f"CREATE INDEX CONCURRENTLY {part} ON {partition} {definition}")
    cursor.execute(f"ALTER INDEX {name} ATTACH PARTITION {part}")
