"""Emptying the database after a test that commits."""

from typing import Any

from django.core.management.commands import flush
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

# No test changes what `migrate` leaves in these, and recreating it takes as long as emptying all other tables.
_KEPT = (
    *("django_migrations", "django_content_type", "auth_permission"),
    *("auth_group", "auth_group_permissions"),
)

# Truncating a table means a new file for it and for each of its indexes, so only tables with rows are truncated. All
# are locked first, which waits for whoever still writes, as truncating all of them would.
_EMPTY = f"""
DO $$
DECLARE
    name text;
    has_rows boolean;
    filled text[] := '{{}}';
    names text[] := ARRAY(
        SELECT oid::regclass::text FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> ALL (ARRAY{list(_KEPT)})
        ORDER BY oid
    );
BEGIN
    EXECUTE 'LOCK TABLE ' || array_to_string(names, ', ') || ' IN ACCESS EXCLUSIVE MODE';
    FOREACH name IN ARRAY names LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO has_rows;
        IF has_rows THEN
            filled := filled || name;
        END IF;
    END LOOP;
    IF filled <> '{{}}' THEN
        EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' CASCADE';
    END IF;
    PERFORM pg_advisory_unlock_all();
END $$
"""


def empty_quickly() -> None:
    """Make Django's `flush`, which follows each test that commits, empty only tables with rows, and not recreate what
    is kept. The connection stays open unless the test has lost it: for each new one Postgres reads its catalogue."""
    TransactionTestCase._should_reload_connections = _nothing  # type: ignore[attr-defined]
    flush.sql_flush = _flush  # type: ignore[attr-defined]
    flush.emit_post_migrate_signal = _nothing  # type: ignore[attr-defined]


def _flush(style: Any, connection: BaseDatabaseWrapper, **options: Any) -> list[str]:
    if not connection.is_usable():
        connection.close()
    return [_EMPTY]


def _nothing(*_: Any) -> None:
    """Do nothing."""
