"""A database of commit 20421b6, before its fifteen migrations became one: `former.sql`."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction
from psycopg.types.json import Jsonb

from streamviz.records.database import conninfo
from streamviz.records.migrations import _days
from streamviz.records.partitions import STREAMS, days_left_out, make_days
from tests.e2e.proxied import until
from tests.records.conftest import Query
from tests.records.history import id_at
from tests.services import ROOT, NewDatabase, clean_environment, fresh_database

pytestmark = pytest.mark.slow

FORMER = Path(__file__).parent / "former.sql"
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
    "indexes": f"SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename !~ {DAY}",
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
IS_DATED = """
SELECT DISTINCT stream.id = %s, is_dated FROM records_stream AS stream
JOIN records_session AS session ON session.id = session_id ORDER BY is_dated
"""
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def former_url(postgres: dict[str, Any]) -> Iterator[str]:
    """The URL of such a database, with rows in each table for streams and policies."""
    with fresh_database(postgres) as url:
        with psycopg.connect(url) as connection:
            connection.execute("SET check_function_bodies = off")
            connection.execute(FORMER.read_text())
        yield url


def migrate(url: str, var: Path, *to: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks", *to]
    environment = clean_environment(DATABASE_URL=url, VAR_DIR=str(var))
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def rows(url: str) -> Rows:
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(TABLES).fetchall()]
        return {
            name: [row for (row,) in connection.execute(f"SELECT to_jsonb(t) FROM {name} AS t ORDER BY t::text")]
            for name in tables
        }


def schema(url: str) -> dict[str, set[tuple[Any, ...]]]:
    with psycopg.connect(url) as connection:
        return {what: {tuple(map(str, row)) for row in connection.execute(query)} for what, query in SCHEMA.items()}


def as_far_as(then: Rows, now: Rows) -> Rows:
    """The current rows, with only the columns of that time: later migrations may have added some."""
    known = {table: found[0].keys() if found else set() for table, found in then.items()}
    return {
        table: [{name: value for name, value in row.items() if name in known[table]} for row in now[table]]
        for table in then
    }


def without_numbers(found: Rows) -> Rows:
    """The rows without the ids that blocks and verdicts used to have, in the order in which they belong together."""
    for table, key in (("records_block", "ordinal"), ("records_verdict", "number")):
        for row in found[table]:
            row.pop("id", None)
        found[table].sort(key=lambda row: (row["stream_id"], row[key]))
    return found


RESERVED = (
    "INSERT INTO records_reservation VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), 7, 0.5)"
)


def test_a_former_database_goes_on_with_all_that_is_in_it(former_url: str, tmp_path: Path) -> None:
    with psycopg.connect(former_url) as connection:
        connection.execute(RESERVED)
    before = rows(former_url)
    assert all(before[f"records_{table}"] for table in "stream block verdict upstreamrun clientrun halfhour".split())
    assert migrate(former_url, tmp_path).stderr == ""
    assert as_far_as(without_numbers(before), without_numbers(rows(former_url))) == before
    with psycopg.connect(former_url) as connection:
        # Their sessions continue.
        assert connection.execute("SELECT DISTINCT owner = name FROM records_apikey").fetchall() == [(True,)]
        for table in ("stream", "block", "verdict"):
            lie = connection.execute(f"SELECT DISTINCT tableoid::regclass::text FROM records_{table}").fetchall()
            assert lie == [(f"records_{table}_past",)]


def test_what_has_ids_of_days_to_come_is_put_aside_and_moved_once_they_have_partitions(
    former_url: str, tmp_path: Path
) -> None:
    at = datetime.now(UTC) + timedelta(days=_days.DAYS_AHEAD + 3)
    with psycopg.connect(former_url) as connection:
        connection.execute("SET session_replication_role = replica")
        [(old,)] = connection.execute("SELECT stream_id FROM records_verdict LIMIT 1").fetchall()
        for table, key in (("stream", "id"), ("block", "stream_id"), ("verdict", "stream_id")):
            connection.execute(f"UPDATE records_{table} SET {key} = %s WHERE {key} = %s", [id_at(at), old])
    sums = "SELECT sum(streams), sum(output_tokens) FROM records_halfhour"
    with psycopg.connect(former_url) as connection:
        before = connection.execute(sums).fetchall()
    assert migrate(former_url, tmp_path).stderr == ""
    with psycopg.connect(former_url, autocommit=True) as connection:
        assert connection.execute("SELECT id FROM records_stream_default").fetchall() == [(id_at(at),)]
        # As for streams that are stored meanwhile, by a writer that does not know about partitions.
        make_days(connection, days_left_out(connection, STREAMS, date(1970, 1, 1)), STREAMS)
        for table in ("stream", "block", "verdict"):
            assert connection.execute(f"SELECT 1 FROM records_{table}_default").fetchall() == []
        assert connection.execute(sums).fetchall() == before
        assert connection.execute("SELECT count(*) FROM records_stream WHERE id = %s", [id_at(at)]).fetchone() == (1,)
        # Its session's streams are searched on all days, those of other sessions only on their own days.
        assert {(True, False), (False, True)} <= set(connection.execute(IS_DATED, [id_at(at)]).fetchall())


def test_a_former_database_is_as_a_new_one_is(former_url: str, new_database: NewDatabase, tmp_path: Path) -> None:
    assert migrate(former_url, tmp_path).returncode == 0
    with new_database() as url:
        new, former = schema(url), schema(former_url)
    for what in SCHEMA:
        assert former[what] - new[what] == new[what] - former[what] == set(), what


def test_an_older_one_is_refused_and_left_as_it_is(former_url: str, tmp_path: Path) -> None:
    with psycopg.connect(former_url) as connection:
        connection.execute("DELETE FROM django_migrations WHERE app = 'records' AND name LIKE '0015%'")
    before = rows(former_url), schema(former_url)
    refused = migrate(former_url, tmp_path)
    assert refused.returncode != 0
    assert "too old for this version to upgrade" in refused.stderr
    assert (rows(former_url), schema(former_url)) == before


def test_cached_tokens_of_before_are_counted_and_priced(former_url: str, tmp_path: Path) -> None:
    usage = {"input_tokens": 4, "output_tokens": 100, "cache_read_input_tokens": 1_000}
    with psycopg.connect(former_url) as connection:
        [(stream_id,)] = connection.execute(
            "UPDATE records_stream SET usage = %s, input_tokens = 4, output_tokens = 100, cost = 9,"
            " provider = 'anthropic', upstream_model = 'claude-sonnet-4-5'"
            " WHERE id = (SELECT id FROM records_stream WHERE outcome <> '' LIMIT 1) RETURNING id",
            [Jsonb(usage)],
        ).fetchall()
    assert migrate(former_url, tmp_path).stderr == ""
    with psycopg.connect(former_url) as connection:
        columns = "input_tokens, output_tokens, cache_read_tokens, cost::float"
        [row] = connection.execute(f"SELECT {columns} FROM records_stream WHERE id = %s", [stream_id]).fetchall()
        one_by_one = "(SELECT sum(input_tokens) FROM records_stream WHERE outcome <> '')"
        sums = f"SELECT sum(input_tokens) - {one_by_one}, sum(cached_tokens) FROM records_halfhour"
        [added_up] = connection.execute(sums).fetchall()
    assert row == (1_004, 100, 1_000, pytest.approx(4 * 3e-6 + 1_000 * 3e-7 + 100 * 1.5e-5))
    assert added_up == (0, 1_000)


class Partitioning:
    """The migration that partitions streams, run on such a database, with a hook before each statement."""

    def __init__(self, url: str) -> None:
        self.statements: list[str] = []
        self.before: Callable[[str], None] = lambda _: None
        self._connection = connections["former"]
        self._url = url

    def run(self) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 20")
        with self._connection.execute_wrapper(self._see):
            _days.partition(None, SimpleNamespace(connection=self._connection))

    def _see(self, execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
        self.statements.append(statement)
        self.before(statement)
        return execute(statement, *rest)

    def number(self, part: str) -> int:
        """How many statements contain this."""
        return sum(part in each for each in self.statements)

    def left(self) -> list[str]:
        """The tables that refuse rows of later days."""
        with psycopg.connect(self._url) as connection:
            found = connection.execute(
                "SELECT conrelid::regclass::text FROM pg_constraint WHERE conname = 'before_days'"
            )
            return [name for (name,) in found]


@pytest.fixture
def partitioning(
    former_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_setup: None, django_db_blocker: Any
) -> Iterator[Partitioning]:
    assert migrate(former_url, tmp_path, "records", "0036").stderr == ""
    name = psycopg.conninfo.conninfo_to_dict(former_url)["dbname"]
    monkeypatch.setitem(connections.settings, "former", {**connections.settings["default"], "NAME": name})
    monkeypatch.setattr(_days, "PAUSE_SECONDS", 0)
    with django_db_blocker.unblock():
        yield Partitioning(former_url)
        connections["former"].close()
        del connections["former"]


def test_a_reader_is_waited_for_without_reading_all_again(partitioning: Partitioning, former_url: str) -> None:
    with psycopg.connect(former_url) as reader:

        def see(statement: str) -> None:
            if statement == _days._LOCK:
                is_first = partitioning.number(_days._LOCK) == 1
                reader.execute("SELECT FROM records_block" if is_first else "ROLLBACK")

        partitioning.before = see
        partitioning.run()
    assert partitioning.number(_days._LOCK) == 2
    assert partitioning.number("VALIDATE") == len(STREAMS)
    assert partitioning.left() == []


def test_given_up_it_leaves_tables_that_take_all_days(
    partitioning: Partitioning, former_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_days, "TRIES", 3)
    with psycopg.connect(former_url) as reader:

        def see(statement: str) -> None:
            if statement == _days._LOCK:
                reader.execute("SELECT FROM records_stream")
            elif "stall DROP" in statement and partitioning.number(_days._LOCK):
                # The first attempt is over.
                assert partitioning.left() == ["records_stream", "records_stall"]
                reader.rollback()

        partitioning.before = see
        with pytest.raises(OperationalError, match="are in use"):
            partitioning.run()
    assert partitioning.left() == []


def test_what_it_has_to_leave_bounded_is_in_the_log(
    partitioning: Partitioning, former_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_days, "TRIES", 3)
    with psycopg.connect(former_url) as reader:

        def see(statement: str) -> None:
            if statement == _days._LOCK:
                reader.execute("SELECT FROM records_block")

        partitioning.before = see
        with pytest.raises(OperationalError, match="are in use"):
            partitioning.run()
    assert partitioning.left() == ["records_block"]
    [said] = [record.getMessage() for record in caplog.records if record.name == _days.__name__]
    assert said.endswith("ALTER TABLE records_block DROP CONSTRAINT IF EXISTS before_days")


def test_a_lock_that_came_to_a_deadlock_is_tried_again(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_days, "PAUSE_SECONDS", 0)
    tries: list[str] = []

    def step() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL deadlock_timeout = 10")
            cursor.execute("LOCK records_stall IN ACCESS EXCLUSIVE MODE")
            tries.append("again" if tries else "once")
            if len(tries) == 1:
                has_locked.set()
                until(lambda: bool(query("SELECT 1 FROM pg_locks WHERE locktype = 'relation' AND NOT granted")))
            cursor.execute("LOCK records_lintnote IN ACCESS EXCLUSIVE MODE")

    def lock_otherwise() -> None:
        with psycopg.connect(conninfo()) as connected:
            connected.execute("SET deadlock_timeout = 60000; LOCK records_lintnote IN ACCESS EXCLUSIVE MODE")
            has_locked.wait()
            connected.execute("LOCK records_stall IN ACCESS EXCLUSIVE MODE")

    has_locked = Event()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lock_otherwise)
        until(lambda: bool(query("SELECT 1 FROM pg_locks WHERE relation = 'records_lintnote'::regclass")))
        _days._patiently(step)
        other.result()
    assert len(tries) > 1


def test_interrupted_it_leaves_tables_that_take_all_days(partitioning: Partitioning) -> None:
    def interrupt(statement: str) -> None:
        if statement.startswith("ALTER TABLE records_block VALIDATE"):
            raise KeyboardInterrupt

    partitioning.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        partitioning.run()
    assert partitioning.number("ADD CONSTRAINT before_days") == 2
    assert partitioning.left() == []
