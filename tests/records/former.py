"""Databases of before the first release: one of commit 20421b6 (`former.sql`), which its migration 0015 made, and what
the migrations 0016 to 0049 of then did to it, one after the other (`former_steps.sql`)."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.services import ROOT, clean_environment, fresh_database

FORMER = Path(__file__).parent / "former.sql"
_, *_PARTS = re.split(r"^-- (\d{4}_\w+)\n", FORMER.with_name("former_steps.sql").read_text(), flags=re.MULTILINE)
STEPS = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))
TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND (relname ~ '^records_' OR relname = 'auth_user')
"""
# Partitions of days, which exist only for days with streams, and of everything stored before there were partitions.
DAY = "'_[0-9]{8}|_past$|^past_'"
SCHEMA = {
    "columns": f"""
        SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attstorage,
            attcompression, pg_get_expr(adbin, adrelid)
        FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid
            LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND attnum > 0 AND NOT attisdropped
            AND relname !~ {DAY}
    """,
    "tables": f"SELECT relname, relkind, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    f" AND relname !~ {DAY}",
    "indexes": f"""
        SELECT relname, pg_get_indexdef(indexrelid), indisvalid FROM pg_index JOIN pg_class AS c ON c.oid = indrelid
        WHERE relnamespace = 'public'::regnamespace AND relname !~ {DAY}
    """,
    "constraints": f"""
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text !~ {DAY} AND contype <> 'n'
    """,
    # A condition that was written out and parsed again has other parentheses.
    "triggers": "SELECT translate(pg_get_triggerdef(oid), '()', '') FROM pg_trigger WHERE NOT tgisinternal"
    f" AND tgrelid::regclass::text !~ {DAY}",
    "functions": "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
}
Schema = dict[str, set[tuple[Any, ...]]]
Rows = dict[str, list[dict[str, Any]]]


@contextmanager
def former_database(server: Mapping[str, Any], to: str = "0015") -> Iterator[str]:
    """The URL of such a database as the migration of this number left it, with rows in each table for streams and
    policies."""
    with fresh_database(server) as url:
        with psycopg.connect(url) as connection:
            connection.execute("SET check_function_bodies = off")
            connection.execute(FORMER.read_text())
            for name in STEPS:
                if name[:4] <= to:
                    take(connection, name)
        yield url


def take(connection: psycopg.Connection, name: str) -> None:
    """Do to the database what this migration did."""
    connection.execute(STEPS[name])
    connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('records', %s, now())", [name])
    connection.commit()


@contextmanager
def as_former(url: str) -> Iterator[BaseDatabaseWrapper]:
    """Django's connection to such a database, as its database `former`."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    connections.settings["former"] = {**connections.settings["default"], "NAME": name}
    try:
        yield connections["former"]
    finally:
        connections["former"].close()
        del connections["former"], connections.settings["former"]


def migrate(url: str, var: Path) -> subprocess.CompletedProcess[str]:
    with start_to_migrate(url, var) as process:
        output, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def start_to_migrate(url: str, var: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
    environment = clean_environment(DATABASE_URL=url, VAR_DIR=str(var))
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def rows(url: str) -> Rows:
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(TABLES).fetchall()]
        return {
            name: [row for (row,) in connection.execute(f"SELECT to_jsonb(t) FROM {name} AS t ORDER BY t::text")]
            for name in tables
        }


def schema(url: str) -> Schema:
    with psycopg.connect(url) as connection:
        return {what: {tuple(map(str, row)) for row in connection.execute(query)} for what, query in SCHEMA.items()}


def as_far_as(then: Rows, now: Rows) -> Rows:
    """The current rows, with only the columns of that time: later migrations may have added some."""
    known = {table: found[0].keys() if found else set() for table, found in then.items()}
    return {
        table: [{name: value for name, value in row.items() if name in known[table]} for row in now[table]]
        for table in then
    }


def differences(url: str, new: Schema) -> Schema:
    """What only one of them has, by kind."""
    found = schema(url)
    return {what: found[what] ^ new[what] for what in SCHEMA if found[what] != new[what]}
