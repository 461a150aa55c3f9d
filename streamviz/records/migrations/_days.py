"""Streams, and what belongs to them, in partitions by the time in their ids, so that what is over is dropped whole."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db import OperationalError, transaction
from psycopg.errors import DeadlockDetected, LockNotAvailable

from streamviz.records.migrations import _partitions

log = logging.getLogger(__name__)

# The key by which each is partitioned; whoever locks several does so in this order, which is the writer's.
TABLES = {
    "records_stream": "id",
    "records_block": "stream_id",
    "records_verdict": "stream_id",
    "records_requestwords": "stream_id",
    "records_lintnote": "stream_id",
    "records_stall": "stream_id",
}
# Other indexes begin with these columns.
ALSO_BEGIN_OTHERS = {"records_stream": "session_id", "records_verdict": "policy_version_id"}
# What is stored while this goes on is within these days, too.
DAYS_AHEAD = 14
# Whoever waits for a whole table keeps all waiting who come after, so each waits for `lock_timeout`, but often.
TRIES = 100
PAUSE_SECONDS = 3.0

LEFT_BOUND = "streams of more than %d days ahead cannot be stored until you migrate again, or have Postgres run: %s"

_LOCK = f"LOCK TABLE {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE"
_UNCHECK = "ALTER TABLE {table} DROP CONSTRAINT IF EXISTS before_days"
_FOREIGN_KEYS = "SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'f' AND {column} = %s::regclass"
_CONSTRAINTS = """
SELECT conname, pg_get_constraintdef(oid), contype <> 'c' FROM pg_constraint
WHERE conrelid = %s::regclass AND contype IN ('p', 'u', 'c') AND conname <> 'before_days'
"""
_INDEXES = """
SELECT relname, pg_get_indexdef(c.oid) FROM pg_class AS c JOIN pg_index ON indexrelid = c.oid
WHERE indrelid = %s::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = c.oid)
ORDER BY 1
"""
_INDEX_OF = """
SELECT indexrelid::regclass FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
WHERE indrelid = %s::regclass AND indnatts = 1 AND attname = %s
"""
_TRIGGERS = "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
_COLUMNS = """
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
_OPTIONS = "SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class WHERE oid = %s::regclass"


def partition(_: Any, editor: Any) -> None:
    """Make partitioned tables of these. What there is becomes the first partition as it is, whatever its size: it is
    read once, while others read and write, to know that it has nothing of later days."""
    behind = datetime.now(UTC).date() + timedelta(days=DAYS_AHEAD)
    with editor.connection.cursor() as cursor:
        [(bound,)] = _rows(cursor, "SELECT streamviz_first_id(%s::timestamp AT TIME ZONE 'UTC')::text", [behind])
        try:
            _check(cursor, bound)
            _patiently(partial(_lock_and_partition, editor.connection.alias, cursor, bound))
        except BaseException:
            # Until somebody tries again streams go on to be stored, in some days' time as well.
            _uncheck(cursor)
            raise


def _lock_and_partition(alias: str, cursor: Any, bound: str) -> None:
    with transaction.atomic(using=alias):
        cursor.execute(_LOCK)
        _partition_all(cursor, bound)


def _patiently(step: Callable[[], Any]) -> None:
    """Raises OperationalError where somebody keeps a table for too long."""
    for _ in range(TRIES):
        if _is_done(step):
            return
        time.sleep(PAUSE_SECONDS)
    raise OperationalError("the tables of streams are in use; migrate again once nobody reads them for long")


def _is_done(step: Callable[[], Any]) -> bool:
    """Do it, unless somebody keeps a table that it locks."""
    try:
        step()
    except OperationalError as error:
        if not isinstance(error.__cause__, (LockNotAvailable, DeadlockDetected)):
            raise
        return False
    return True


def _uncheck(cursor: Any) -> None:
    """Whoever reads one table does not keep the others. What is kept for too long is named in the log."""
    left = list(TABLES)
    for _ in range(TRIES):
        left = [table for table in left if not _is_done(partial(cursor.execute, _UNCHECK.format(table=table)))]
        if not left:
            return
        time.sleep(PAUSE_SECONDS)
    log.error(LEFT_BOUND, DAYS_AHEAD, "; ".join(_UNCHECK.format(table=table) for table in left))


def _check(cursor: Any, bound: str) -> None:
    for table, key in TABLES.items():
        statements = [_UNCHECK.format(table=table)]
        if not _later(cursor, table, key, bound):
            statements.append(f"ALTER TABLE {table} ADD CONSTRAINT before_days CHECK ({key} < '{bound}') NOT VALID")
            statements.append(f"ALTER TABLE {table} VALIDATE CONSTRAINT before_days")
        for statement in statements:
            _patiently(partial(cursor.execute, statement))


def _partition_all(cursor: Any, bound: str) -> None:
    for table in TABLES:
        for column in ("conrelid", "confrelid"):
            for of, name in _rows(cursor, _FOREIGN_KEYS.format(column=column), [table]):
                cursor.execute(f"ALTER TABLE {of} DROP CONSTRAINT {name}")
    cursor.execute("ALTER TABLE records_block DROP COLUMN id; ALTER TABLE records_verdict DROP COLUMN id")
    for table, column in ALSO_BEGIN_OTHERS.items():
        for (name,) in _rows(cursor, _INDEX_OF, [table, column]):
            cursor.execute(f"DROP INDEX {name}")
    cursor.execute("DROP FUNCTION streamviz_make_day(date)")
    cursor.execute(_partitions.FUNCTIONS)
    # It names the table that it was made from, whatever that is called.
    [(view,)] = _rows(cursor, "SELECT pg_get_viewdef('records_frame')", [])
    cursor.execute("DROP VIEW records_frame")
    for table, key in TABLES.items():
        _partition(cursor, table, key, bound)
    cursor.execute(f"CREATE VIEW records_frame AS {view}")


def _partition(cursor: Any, table: str, key: str, bound: str) -> None:
    constraints, indexes, triggers = (_rows(cursor, each, [table]) for each in (_CONSTRAINTS, _INDEXES, _TRIGGERS))
    [(columns,)], [(options,)] = _rows(cursor, _COLUMNS, [table]), _rows(cursor, _OPTIONS, [table])
    past = f"{table}_past"
    cursor.execute(f"ALTER TABLE {table} RENAME TO {past}")
    for name, _, has_index in constraints:
        if has_index:
            cursor.execute(f"ALTER TABLE {past} RENAME CONSTRAINT {name} TO past_{name}")
    for name, _ in indexes:
        cursor.execute(f"ALTER INDEX {name} RENAME TO past_{name}")
    for name, _ in triggers:
        cursor.execute(f"DROP TRIGGER {name} ON {past}")
    cursor.execute(
        f"CREATE TABLE {table} (LIKE {past} INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS)"
        f" PARTITION BY RANGE ({key})"
    )
    cursor.execute(f"CREATE TABLE {table}_default PARTITION OF {table} DEFAULT {options or ''}")
    for name, definition, _ in constraints:
        cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
    for _, definition in [*indexes, *triggers]:
        cursor.execute(definition)
    _attach(cursor, table, key, columns, bound)


def _attach(cursor: Any, table: str, key: str, columns: str, bound: str) -> None:
    """Have what there is as the partition of all days before the bound. What has ids of later days, which were made up
    or by a clock that was wrong, goes to the default one."""
    past = f"{table}_past"
    if not _rows(cursor, f"SELECT FROM {past} LIMIT 1", []):
        cursor.execute(f"DROP TABLE {past}")
        return
    if _later(cursor, past, key, bound):
        cursor.execute(f"ALTER TABLE {table}_default DISABLE TRIGGER USER")
        cursor.execute(
            f"WITH moved AS (DELETE FROM {past} WHERE {key} >= '{bound}' RETURNING *)"  # noqa: S608
            f" INSERT INTO {table}_default ({columns}) SELECT {columns} FROM moved"
        )
        cursor.execute(f"ALTER TABLE {table}_default ENABLE TRIGGER USER")
    cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {past} FOR VALUES FROM (MINVALUE) TO ('{bound}')")
    cursor.execute(f"ALTER TABLE {past} DROP CONSTRAINT IF EXISTS before_days")


def _later(cursor: Any, table: str, key: str, bound: str) -> bool:
    return bool(_rows(cursor, f"SELECT FROM {table} WHERE {key} >= '{bound}' LIMIT 1", []))


def _rows(cursor: Any, statement: str, values: list[object]) -> list[tuple[Any, ...]]:
    cursor.execute(statement, values)
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
