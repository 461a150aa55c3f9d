"""The upkeep of the tables: partitions (also those made too late), half hours, retention; and its failures."""

import json
import threading
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from streamviz.records import partitions, request_index
from streamviz.records.database import conninfo
from streamviz.records.models import RetentionRun
from streamviz.records.partitions import RUNS, STREAMS, day_of, make_days
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import stream_page
from streamviz.records.retention import days
from streamviz.records.rules import Retention
from streamviz.records.upkeep import EVERY_SECONDS, FIRST_PAUSE_SECONDS, Upkeep
from streamviz.records.verification import wrong_sums
from tests.records.conftest import Query, drop_days
from tests.records.history import id_at, make_policy, store, story

RULES = Retention(chunk_days=14, stream_days=180, kept_days=0)
NOT_YET = threading.Event()
ALL = "SELECT relname FROM pg_class WHERE relname ~ '^records_[a-z]+_[0-9]{8}$' ORDER BY 1"


class SetAfter(threading.Event):
    """Counts as set after the given number of waits."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._left = times

    def wait(self, timeout: float | None = None) -> bool:
        self._left -= 1
        return self._left < 0


def ago(days_ago: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days_ago)


def put_into_default(query: Query, at: datetime) -> None:
    """A stream of that time, stored when there was no partition for its day."""
    store(story(at, denied=make_policy()))
    for table in (*RUNS, *STREAMS):
        [(name,)] = query("SELECT child FROM streamviz_partitions(%s) WHERE first <= %s AND %s < behind", table, at, at)
        query("ALTER TABLE records_stream DISABLE TRIGGER USER")
        query(f"ALTER TABLE {table} DETACH PARTITION {name}")
        query(f"INSERT INTO {table} ({columns_of(query, table)}) SELECT {columns_of(query, table)} FROM {name}")
        query(f"DROP TABLE {name}")
        query("ALTER TABLE records_stream ENABLE TRIGGER USER")


def columns_of(query: Query, table: str) -> str:
    columns = (
        "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
    )
    return str(query(columns, table)[0][0])


def in_default(query: Query, tables: Sequence[str] = (*RUNS, *STREAMS)) -> int:
    return sum(len(query(f"SELECT 1 FROM {table}_default")) for table in tables)


def test_it_makes_days_ahead_and_applies_retention_when_it_is_due(query: Query) -> None:
    store(story(ago(200)))
    upkeep = Upkeep(RULES, conninfo)
    assert [upkeep.round(NOT_YET) for _ in range(2)] == [EVERY_SECONDS] * 2
    assert RetentionRun.objects.count() == 1
    assert query("SELECT count(*) FROM records_stream") == [(0,)]
    [(today,)] = query("SELECT (now() AT TIME ZONE 'UTC')::date")
    assert {today - timedelta(days=1), today, today + timedelta(days=7)} <= set(days())


@pytest.mark.parametrize("days_ago", [0, 3, -5, -40], ids=["today", "slept since", "ahead", "far ahead"])
def test_rows_that_came_before_their_day_had_a_partition_are_moved_into_it(query: Query, days_ago: float) -> None:
    put_into_default(query, ago(days_ago))
    tables = "chunk frame stream block verdict requestwords".split()
    before = [query(f"SELECT * FROM records_{each}") for each in tables]
    assert in_default(query, RUNS) > 0
    assert in_default(query, STREAMS) > 3
    upkeep = Upkeep(RULES, conninfo)
    upkeep.round(NOT_YET)
    assert upkeep.trouble == ""
    assert in_default(query) == 0
    assert [query(f"SELECT * FROM records_{each}") for each in tables] == before
    assert list(wrong_sums()) == []


def test_days_of_a_clock_that_was_never_set_have_no_partitions(query: Query, connected: psycopg.Connection) -> None:
    """No id has a time before 1970: the partition of such a day began in the year 10889, which nobody could read."""
    before = query(ALL)
    make_days(connected, [date(1969, 12, 31), date(1970, 1, 1), date(2019, 12, 31), date(2100, 1, 1)])
    assert query(ALL) == before


def test_what_outlived_its_day_stays_where_it_is(query: Query) -> None:
    put_into_default(query, ago(20))
    query("UPDATE records_session SET is_starred = true")
    Upkeep(RULES, conninfo).round(NOT_YET)
    assert in_default(query, RUNS) > 0
    assert in_default(query, STREAMS) == 0
    assert ago(20).date() not in days()


def test_postgres_knows_what_is_in_all_partitions_together(query: Query) -> None:
    store(story(ago(1), denied=make_policy()), story(ago(2)))
    query("SELECT pg_stat_reset_single_table_counters(t::regclass) FROM unnest(%s::text[]) AS t", list(STREAMS))
    Upkeep(RULES, conninfo).round(NOT_YET)
    assert query("SELECT reltuples FROM pg_class WHERE oid = 'records_stream'::regclass") == [(2,)]
    known = query("SELECT DISTINCT tablename FROM pg_stats WHERE inherited AND tablename = ANY(%s)", list(STREAMS))
    assert {name for (name,) in known} >= {"records_stream", "records_block", "records_verdict", "records_requestwords"}


def test_partitioned_tables_are_analysed_once_a_day(query: Query) -> None:
    last = "SELECT relname, last_analyze FROM pg_stat_user_tables WHERE relname = ANY(%s) ORDER BY 1"
    Upkeep(RULES, conninfo).round(NOT_YET)
    before = query(last, list(STREAMS))
    assert all(at for _, at in before)
    Upkeep(RULES, conninfo).round(NOT_YET)
    assert query(last, list(STREAMS)) == before


def test_what_fails_is_told_and_keeps_nothing_else_from_being_done(
    query: Query, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(partitions, "LOCK_SECONDS", 0.1)
    drop_days(query)  # otherwise retention would drop some, and wait for the reader as well
    upkeep = Upkeep(RULES, conninfo)
    with psycopg.connect(conninfo()) as reader:
        reader.execute("SELECT count(*) FROM records_upstreamrun_default")
        pauses = [upkeep.round(NOT_YET) for _ in range(8)]
    assert "lock timeout" in upkeep.trouble
    assert pauses[0] > FIRST_PAUSE_SECONDS
    assert pauses == sorted(pauses)
    assert pauses[-1] == EVERY_SECONDS
    assert RetentionRun.objects.filter(ended_at__isnull=False).count() == 1
    assert upkeep.round(NOT_YET) == EVERY_SECONDS
    assert upkeep.trouble == ""
    assert [line.split(",")[0] for line in caplog.messages] == [
        "table maintenance failed",
        "table maintenance works again",
    ]


def test_what_fails_in_each_step_is_said_once(tmp_path: Path) -> None:
    upkeep = Upkeep(RULES, lambda: f"host={tmp_path}")
    upkeep.round(NOT_YET)
    assert upkeep.trouble.count("No such file or directory") == 1


def test_requests_from_before_they_were_searched_are_found_after_it(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asking(text: str) -> bytes:
        return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()

    monkeypatch.setattr(request_index, "AT_ONCE", 1)
    old = store(
        *(story(ago(3), number=n, request=asking(f"zebra {n}")) for n in range(3)), story(ago(4), number=4, request=b"")
    )
    query("DELETE FROM records_requestwords")
    store(story(ago(1), request=asking("giraffe")))
    Upkeep(RULES, conninfo).round(SetAfter(1))
    assert query("SELECT count(*) FROM records_requestwords") == [(2,)], "ended after some"
    Upkeep(RULES, conninfo).round(NOT_YET)
    assert set(stream_page(Filters(text="zebra"), None, 10).ids) == set(old[:3])
    assert query("SELECT count(*) FROM records_requestwords") == [(4,)]


def test_what_stood_before_a_sessions_first_request_is_found_where_later_ones_were_searched_before(
    query: Query,
) -> None:
    def asking(*texts: str) -> bytes:
        roles = ("user", "assistant", "user")
        messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        return json.dumps({"model": "m", "messages": messages}).encode()

    first, second = store(
        story(ago(3), session="a", request=asking("zebra", "ok", "one")),
        story(ago(2), session="a", request=asking("walrus", "ok", "two")),
    )
    query("DELETE FROM records_requestwords WHERE stream_id = %s", first)
    Upkeep(RULES, conninfo).round(NOT_YET)
    assert stream_page(Filters(text="zebra"), None, 10).ids == [first]
    assert stream_page(Filters(text="two"), None, 10).ids == [second]


def test_a_clock_that_jumps_ahead_while_it_runs_has_retention_drop_nothing(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep = Upkeep(RULES, conninfo)
    there = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: there + 400 * 86_400 * 10**9)
    assert abs(upkeep.now() - datetime.now(UTC)) < timedelta(hours=1)
    monkeypatch.setattr(time, "time_ns", lambda: there - 400 * 86_400 * 10**9)
    assert abs(upkeep.now() - ago(400)) < timedelta(hours=1)


def test_an_id_tells_its_day_where_it_is_made_of_the_time() -> None:
    at = datetime(2026, 3, 4, 23, 59, 59, 999_000, tzinfo=UTC)
    assert day_of(id_at(at)) == at.date()
    assert day_of(id_at(at + timedelta(milliseconds=1))) == at.date() + timedelta(days=1)
    assert [day_of(id_at(datetime(year, 1, 1, tzinfo=UTC))) for year in (1970, 2019, 2100)] == [None] * 3
    assert day_of(type(id_at(at))(int=2**128 - 1)) is None


def test_a_failure_of_any_kind_is_told_and_ends_nothing(query: Query, caplog: pytest.LogCaptureFixture) -> None:
    def conninfo() -> str:
        raise LookupError("odd")

    upkeep = Upkeep(RULES, conninfo)
    assert upkeep.round(NOT_YET) < EVERY_SECONDS
    assert "LookupError" in upkeep.trouble
    assert RetentionRun.objects.count() == 1
    assert "Traceback" in caplog.text
