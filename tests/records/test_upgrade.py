"""Databases of before the first release go on: those of commit 20421b6, before its fifteen migrations became one, and
those that each later migration of then left."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from psycopg.types.json import Jsonb

from streamviz.records.migrations import _days, _former
from streamviz.records.partitions import STREAMS, days_left_out, make_days
from tests.e2e.proxied import until
from tests.records.former import (
    STEPS,
    Rows,
    Schema,
    as_far_as,
    as_former,
    differences,
    former_database,
    migrate,
    rows,
    schema,
    start_to_migrate,
    take,
)
from tests.records.history import id_at
from tests.services import NewDatabase, fresh_database

pytestmark = pytest.mark.slow

IS_DATED = """
SELECT DISTINCT stream.id = %s, is_dated FROM records_stream AS stream
JOIN records_session AS session ON session.id = session_id ORDER BY is_dated
"""
WAITING = "SELECT FROM pg_locks WHERE NOT granted"
LABELLED = "UPDATE records_session SET label = 'told'"
NAMED = """
UPDATE records_stream SET is_named = true WHERE session_id = (SELECT session_id FROM records_stream LIMIT 1)
"""
# All that the migration does is done by then.
BREAKS_OFF = """
CREATE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'breaks off'; END $$;
CREATE TRIGGER breaks_off BEFORE INSERT ON django_migrations
    FOR EACH ROW WHEN (NEW.app = '{}' AND NEW.name = '0001_initial') EXECUTE FUNCTION break_off()
"""
# What a step of then would change if it were taken again.
CHANGED_SINCE = {
    "0016_tokens": """
        UPDATE records_stream SET input_tokens = 4,
            usage = '{"input_tokens": 4, "output_tokens": 100, "cache_read_input_tokens": 1000}'
    """,
    "0020_session_name": f"{LABELLED}; {NAMED}",
    "0033_runs": "UPDATE records_route SET version = 3",
    "0038_dated_sessions": "UPDATE records_session SET is_dated = false",
    "0040_undated_sessions": "UPDATE records_session SET is_dated = true",
    "0041_key_owner": "UPDATE records_apikey SET owner = 'another'",
}


@pytest.fixture
def former_url(postgres: dict[str, Any]) -> Iterator[str]:
    with former_database(postgres) as url:
        yield url


@pytest.fixture
def new(new_database: NewDatabase) -> Schema:
    """The schema of a new database."""
    with new_database() as url:
        return schema(url)


def upgrade(url: str) -> None:
    """As `migrate` does, within this process."""
    with as_former(url) as connection:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())


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


def test_each_former_database_becomes_as_a_new_one_is(
    former_url: str, new: Schema, postgres: dict[str, Any], django_db_setup: None, django_db_blocker: Any
) -> None:
    """With all that is in it, and what was done once is not done again."""
    assert [*STEPS] == [*_former.STEPS]
    template = urlsplit(former_url).path[1:]
    with django_db_blocker.unblock():
        for name in ("0015_limits_that_bind", *STEPS):
            with psycopg.connect(former_url) as connection:
                if name in STEPS:
                    take(connection, name)
                connection.execute(CHANGED_SINCE.get(name, "SELECT"))
            with fresh_database(postgres, template) as url:
                before = without_numbers(rows(url))
                upgrade(url)
                assert differences(url, new) == {}, name
                assert as_far_as(before, without_numbers(rows(url))) == before, name


@pytest.mark.parametrize(
    ("at", "lock"),
    [
        ("0019", "records_session IN ACCESS EXCLUSIVE MODE"),
        ("0036", "records_block IN ACCESS EXCLUSIVE MODE"),
        # An index is half made by then.
        ("0041", "records_verdict_default IN ROW EXCLUSIVE MODE"),
    ],
)
def test_an_upgrade_that_was_killed_is_gone_on_with(
    at: str, lock: str, postgres: dict[str, Any], new: Schema, tmp_path: Path
) -> None:
    with former_database(postgres, at) as url:
        before = without_numbers(rows(url))
        with psycopg.connect(url) as other, psycopg.connect(url, autocommit=True) as watching:
            other.execute(f"LOCK {lock}")
            with start_to_migrate(url, tmp_path) as killed:
                until(lambda: watching.execute(WAITING).fetchall())
                killed.kill()
        assert differences(url, new) != {}
        assert migrate(url, tmp_path).returncode == 0
        assert differences(url, new) == {}
        assert as_far_as(before, without_numbers(rows(url))) == before


@pytest.mark.parametrize("app", ["contenttypes", "auth", "admin", "sessions", "records"])
def test_a_first_start_that_breaks_off_is_gone_on_with(
    app: str, new: Schema, postgres: dict[str, Any], tmp_path: Path, django_db_setup: None, django_db_blocker: Any
) -> None:
    with fresh_database(postgres) as url:
        with django_db_blocker.unblock(), as_former(url) as connection:
            MigrationRecorder(connection).ensure_schema()
        with psycopg.connect(url) as other:
            other.execute(BREAKS_OFF.format(app))
        assert "breaks off" in migrate(url, tmp_path).stderr
        with psycopg.connect(url) as other:
            other.execute("DROP FUNCTION break_off CASCADE")
        assert migrate(url, tmp_path).returncode == 0
        assert differences(url, new) == {}


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


def test_names_that_clients_gave_are_no_labels(postgres: dict[str, Any], tmp_path: Path) -> None:
    with former_database(postgres, "0019") as url:
        with psycopg.connect(url) as connection:
            connection.execute(LABELLED)
            connection.execute(NAMED)
        assert migrate(url, tmp_path).returncode == 0
        with psycopg.connect(url) as connection:
            found = connection.execute(
                "SELECT DISTINCT is_named, label, name FROM records_stream"
                " JOIN records_session AS session ON session.id = session_id ORDER BY 1"
            ).fetchall()
    assert found == [(False, "told", ""), (True, "", "told")]


def test_routes_get_their_first_version(postgres: dict[str, Any], tmp_path: Path) -> None:
    with former_database(postgres, "0032") as url:
        assert migrate(url, tmp_path).returncode == 0
        with psycopg.connect(url) as connection:
            found = connection.execute(
                "SELECT version, number, route.target = told.target FROM records_route AS route"
                " JOIN records_routeversion AS told ON route_id = route.id"
            ).fetchall()
    assert found == [(1, 1, True)]
