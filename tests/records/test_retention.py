"""Retention: what is deleted, what stays, and what a dry run reports; as seen in the tables."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections

from streamviz.records import retention
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.dropping import drop, partitions_before
from streamviz.records.ids import uuid7
from streamviz.records.models import (
    Annotation,
    Backtest,
    DeletedStream,
    PolicyVersion,
    PublicLink,
    RetentionRun,
    Session,
    Stream,
)
from streamviz.records.partitions import Partition, make_days
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import stream_page
from streamviz.records.retention import Retaining, days, is_due, run_retention
from streamviz.records.rules import Retention
from streamviz.records.verification import strays, verify, wrong_sums
from streamviz.records.writer.session_moves import move_stream
from tests.records.conftest import Query, wait_for_a_lock
from tests.records.history import NOW, day, make_policy, store, story
from tests.records.support import journal_of, move

RULES = Retention(chunk_days=14, stream_days=180, kept_days=0)
STREAMS_WITH = "SELECT DISTINCT stream_id FROM records_{}"


@pytest.fixture(autouse=True)
def partitions(query: Query) -> None:
    """A partition for each day that these tests have streams on."""
    made = [day(days_ago).date() for days_ago in (200, 100, 15, 14, 1, 0)]
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        make_days(connection, made)


def streams_with(query: Query, table: str) -> set[object]:
    return {row[0] for row in query(STREAMS_WITH.format(table))}


def apply(rules: Retention = RULES) -> list[str]:
    said: list[str] = []
    Retaining(rules, NOW).apply(said.append)
    return said


def test_chunks_go_by_the_day_and_all_else_stays(query: Query) -> None:
    old, edge, new = store(story(day(15)), story(day(14)), story(day(1)))
    said = apply()
    for table in ("upstreamrun", "clientrun"):
        assert streams_with(query, table) == {edge, new}
    assert streams_with(query, "block") == {old, edge, new}
    assert query("SELECT count(*) FROM records_stream") == [(3,)]
    assert day(15).date() not in days()
    assert day(14).date() in days()
    assert any(line.startswith(f"dropped the chunks of {day(15).date()}") for line in said)


def test_the_chunks_of_starred_and_of_denied_streams_stay(query: Query) -> None:
    starred, denied, plain = store(
        story(day(15), session="starred"), story(day(15), number=1, denied=make_policy()), story(day(15), number=2)
    )
    Session.objects.filter(label="starred").update(is_starred=True)
    before = query("SELECT * FROM records_chunk WHERE stream_id = %s ORDER BY seq", denied)
    apply()
    assert streams_with(query, "upstreamrun") == streams_with(query, "clientrun") == {starred, denied}
    assert query("SELECT * FROM records_chunk WHERE stream_id = %s ORDER BY seq", denied) == before
    assert plain in streams_with(query, "block")


def test_a_shadows_denial_keeps_nothing(query: Query) -> None:
    store(story(day(15), denied=make_policy()))
    query("UPDATE records_verdict SET mode = 'shadow'")
    apply()
    assert streams_with(query, "upstreamrun") == set()


def test_the_chunks_of_what_runs_stay_until_it_is_over(query: Query, tmp_path: Path) -> None:
    stream_id, [*running, end] = story(day(15))
    journal = journal_of(tmp_path, running)
    move(tmp_path)
    for _ in range(2):  # first the chunks in the day's partition, then those that outlived it
        apply()
        assert streams_with(query, "upstreamrun") == streams_with(query, "clientrun") == {stream_id}
    journal.append(end)
    journal.flush()
    move(tmp_path)
    assert list(verify()) == [[]]
    apply()
    assert streams_with(query, "upstreamrun") == streams_with(query, "clientrun") == set()


def test_streams_go_whole_and_their_sessions_with_them(query: Query) -> None:
    old, _ = store(story(day(200), session="one"), story(day(1), session="two"))
    apply()
    assert query("SELECT label FROM records_session") == [("two",)]
    for table in ("stream", "block", "verdict", "upstreamrun", "clientrun"):
        column = "id" if table == "stream" else "stream_id"
        assert query(f"SELECT count(*) FROM records_{table} WHERE {column} = %s", old) == [(0,)]


def test_what_is_kept_of_a_dropped_day_is_there_with_all_that_belongs_to_it(query: Query) -> None:
    plain, starred, noted = store(*(story(day(200), number=number) for number in range(3)))
    [denied] = store(story(day(200), number=3, denied=make_policy()))
    Annotation.objects.create(stream_id=starred, is_starred=True)
    Annotation.objects.create(stream_id=noted, note="to be read")
    query(
        "INSERT INTO records_stall (stream_id, cause, times, lasted_us, at)"
        " SELECT id, 'held', 1, 1000000, requested_at FROM records_stream"
    )
    tables = ("block", "verdict", "requestwords", "stall", "annotation", "upstreamrun", "clientrun")
    kept = [starred, denied]
    before = {table: query(f"SELECT * FROM records_{table} WHERE stream_id = ANY(%s)", kept) for table in tables}
    said = apply()
    for table in tables:
        assert sorted(query(f"SELECT * FROM records_{table}"), key=repr) == sorted(before[table], key=repr), table
    assert {row[0] for row in query("SELECT id FROM records_stream_default")} == set(kept)
    assert not [each for each in partitions_before(NOW.date()) if each.behind <= day(180).date()]
    assert any(line.startswith("dropped records_stream_") and line.endswith("streams kept: 2") for line in said)
    assert list(wrong_sums()) == list(strays()) == []
    assert query("SELECT count(*) FROM records_session") == [(2,)]
    assert plain not in streams_with(query, "block")


@pytest.mark.parametrize("is_later", [False, True], ids=["with its partition", "later"])
def test_links_to_a_session_go_with_it(query: Query, is_later: bool) -> None:
    old, _ = store(story(day(200), session="old"), story(day(1), session="new"))
    for session in Session.objects.all():
        PublicLink.objects.create(session=session, digest=session.label, expires_at=NOW)
    if is_later:
        Annotation.objects.create(stream_id=old, is_starred=True)
        apply()
        assert PublicLink.objects.count() == 2
        Annotation.objects.all().delete()
    apply()
    assert query("SELECT digest FROM records_publiclink") == query("SELECT label FROM records_session") == [("new",)]


def test_back_tests_forget_the_examples_that_go(query: Query) -> None:
    plain, starred = store(story(day(200)), story(day(200), number=1))
    Annotation.objects.create(stream_id=starred, is_starred=True)
    policy = PolicyVersion.objects.get(pk=make_policy()).policy
    examples = [{"stream": str(each), "reason": "It says so."} for each in (plain, starred)]
    Backtest.objects.create(policy=policy, kind=policy.kind, examples=examples)
    apply()
    assert Backtest.objects.get().examples == examples[1:]


def test_chunks_go_with_their_streams_however_long_they_might_stay(query: Query) -> None:
    store(story(day(200)))
    apply(Retention(chunk_days=0, stream_days=180, kept_days=0))
    assert streams_with(query, "upstreamrun") == streams_with(query, "clientrun") == set()
    assert list(strays()) == []


def test_a_partition_of_several_days_stays_until_all_of_them_are_over(query: Query) -> None:
    """As streams are kept for 180 days here, their partitions are of one week, beginning on Monday."""
    [old] = store(story(day(183)))  # NOW is a Monday, and so is day(182)
    apply(Retention(chunk_days=14, stream_days=183 - 6, kept_days=0))
    assert query("SELECT id FROM records_stream") == []
    [old] = store(story(day(182), number=1))
    apply(Retention(chunk_days=14, stream_days=177, kept_days=0))
    assert query("SELECT id FROM records_stream") == [(old,)]


def test_a_session_with_newer_streams_stays(query: Query) -> None:
    store(story(day(200), session="long"), story(day(1), session="long"))
    apply()
    assert query("SELECT label FROM records_session") == [("long",)]
    assert query("SELECT count(*) FROM records_stream") == [(1,)]


def asking(*said: str) -> bytes:
    roles = ("system", "user", "assistant", "user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
    return json.dumps({"model": "m", "messages": messages}).encode()


def found(text: str) -> list[UUID]:
    return stream_page(Filters(text=text), None, 10).ids


TURNS = (asking("zebrafish", "walrus"), asking("zebrafish", "walrus", "ok", "ibex"))


@pytest.mark.parametrize("first_day", [200, 202], ids=["its first stream is dropped", "or deleted"])
def test_what_is_left_of_a_session_is_found_by_all_that_it_was_told(query: Query, first_day: int) -> None:
    """The system prompt, tools and earlier turns are indexed only with a session's first stream, while it exists."""
    version = make_policy()
    _, kept, last = store(
        story(day(first_day), session="a", request=TURNS[0]),
        story(day(first_day - 0.5), session="a", request=TURNS[1], denied=version),
        story(day(1), session="a", request=asking("zebrafish", "walrus", "ok", "ibex", "ok", "yak")),
    )
    apply()
    assert found("zebrafish") == found("walrus") == found("ibex") == [kept]
    assert found("yak") == [last]
    # Later streams add their own words.
    [later] = store(story(day(0), session="a", request=asking("zebrafish", "walrus", "ok", "ibex", "ok", "gnu")))
    assert (found("gnu"), found("walrus")) == ([later], [kept])


def test_words_move_with_a_stream_and_what_stays_is_found_by_all_that_it_was_told(query: Query) -> None:
    first, second, other = store(
        story(day(1), session="a", request=TURNS[0]),
        story(day(0.5), session="a", request=TURNS[1]),
        story(day(0.4), session="b", request=asking("gnu", "gnu")),
    )
    with psycopg.connect(conninfo()) as writer:
        sessions = dict(Stream.objects.values_list("pk", "session_id"))
        move_stream(writer.cursor(), first, sessions[first], sessions[other])
    assert sorted(found("zebrafish")) == sorted(found("walrus")) == [first, second]
    delete_session(sessions[other])
    assert found("zebrafish") == found("walrus") == [second]


def test_a_stream_that_moves_to_a_session_of_its_own_brings_all_that_it_was_told(query: Query) -> None:
    first, second = store(story(day(1), session="a", request=TURNS[0]), story(day(0.5), session="a", request=TURNS[1]))
    with psycopg.connect(conninfo()) as writer:
        old = Stream.objects.get(pk=second).session_id
        move_stream(writer.cursor(), second, old, uuid7(), is_new=True)
    assert sorted(found("zebrafish")) == sorted(found("walrus")) == [first, second]


def test_words_are_written_before_the_streams_go_that_they_were_with(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So an interruption at that point loses none."""

    def fail(*_: object) -> None:
        raise OperationalError("interrupted")

    _, kept = store(story(day(200), session="a", request=TURNS[0]), story(day(1), session="a", request=TURNS[1]))
    real = retention.drop
    monkeypatch.setattr(retention, "drop", lambda part, kept: fail() if part.has_streams else real(part, kept))
    with pytest.raises(OperationalError):
        apply()
    assert kept in found("zebrafish")
    monkeypatch.setattr(retention, "drop", real)
    apply()
    assert found("zebrafish") == found("walrus") == [kept]


def test_whoever_looks_while_streams_are_dropped_misses_nothing(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    store(story(day(200)), story(day(200), session="starred", number=1))
    Session.objects.filter(label="starred").update(is_starred=True)
    found: list[str] = []

    def look(part: Partition, kept: Sequence[UUID]) -> None:
        drop(part, kept)
        found.extend(f"{damage.what}, behind {part.name}" for each in (*verify(), strays()) for damage in each)

    monkeypatch.setattr(retention, "drop", look)
    apply()
    assert found == []
    assert len(streams_with(query, "block")) == 1


def drop_and_end_behind_streams(part: Partition, kept: Sequence[UUID]) -> None:
    """Simulate an interruption between deleting streams and what belongs to them."""
    drop(part, kept)
    if part.has_streams:
        raise OperationalError("interrupted")


def test_a_run_that_ends_between_streams_and_their_blocks_leaves_no_strays(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(story(day(200)), story(day(200), session="starred", number=1), story(day(190), number=2))
    Session.objects.filter(label="starred").update(is_starred=True)

    monkeypatch.setattr(retention, "drop", drop_and_end_behind_streams)
    with pytest.raises(OperationalError):
        apply()
    assert [*verify(), list(strays())] == [[], [], []]
    # Blocks that outlived their partition because of their stream stay until it is deleted itself.
    Session.objects.update(is_starred=False)
    monkeypatch.setattr(retention, "drop", drop)
    monkeypatch.setattr(Retaining, "_delete_streams", lambda *_: [])
    apply()
    assert [*verify(), list(strays())] == [[], []]


@pytest.mark.parametrize("stream_days", [0, 400])
def test_what_an_interrupted_run_has_left_goes_also_where_streams_are_kept_for_longer_by_now(
    query: Query, monkeypatch: pytest.MonkeyPatch, stream_days: int
) -> None:
    starred, _, new = store(story(day(200), session="starred"), story(day(200), number=1), story(day(1)))
    Session.objects.filter(label="starred").update(is_starred=True)

    monkeypatch.setattr(retention, "drop", drop_and_end_behind_streams)
    with pytest.raises(OperationalError):
        apply()
    monkeypatch.setattr(retention, "drop", drop)
    sessions = Session.objects.count()
    apply(Retention(chunk_days=14, stream_days=stream_days, kept_days=0))
    assert streams_with(query, "block") == {starred, new}
    assert {row[0] for row in query("SELECT id FROM records_stream")} == {starred, new}
    assert stream_days or Session.objects.count() == sessions


def test_words_go_with_a_stream_that_was_kept_until_a_run_was_interrupted(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(story(day(200), session="starred"))
    Session.objects.update(is_starred=True)

    def end_there(part: Partition, kept: Sequence[UUID]) -> None:
        drop(part, kept)
        raise OperationalError("interrupted")

    monkeypatch.setattr(retention, "drop", end_there)
    with pytest.raises(OperationalError):
        apply()
    Session.objects.update(is_starred=False)
    monkeypatch.setattr(retention, "drop", drop)
    apply()
    assert list(strays()) == []


def test_what_is_kept_goes_when_its_time_is_over_too(query: Query) -> None:
    store(story(day(200), session="starred"), story(day(100), session="starred"))
    Session.objects.update(is_starred=True)
    apply()
    assert query("SELECT count(*) FROM records_stream") == [(2,)]
    apply(Retention(chunk_days=14, stream_days=180, kept_days=150))
    assert query("SELECT count(*) FROM records_stream") == [(1,)]
    assert len(streams_with(query, "upstreamrun")) == 1
    apply(Retention(chunk_days=14, stream_days=180, kept_days=50))
    assert streams_with(query, "upstreamrun") == set()


def test_what_is_kept_for_ever_is_never_deleted(query: Query) -> None:
    store(story(day(200)))
    apply(Retention(chunk_days=0, stream_days=0, kept_days=0))
    assert query("SELECT count(*) FROM records_stream") == [(1,)]
    assert len(streams_with(query, "upstreamrun")) == 1


def test_a_dry_run_says_what_would_go_and_changes_nothing(query: Query) -> None:
    store(story(day(200)), story(day(15)), story(day(1)))
    query("VACUUM ANALYZE records_stream")
    plan = Retaining(RULES, NOW).plan()
    assert [(freed.rule, freed.what, freed.number) for freed in plan] == [
        ("chunks", f"day {day(200).date()}", 1),
        ("chunks", f"day {day(100).date()}", 1),
        ("chunks", f"day {day(15).date()}", 1),
        ("streams", "streams", 1),
    ]
    assert all(freed.size > 0 for freed in plan)
    assert len(streams_with(query, "upstreamrun")) == 3
    assert query("SELECT count(*) FROM records_stream") == [(3,)]


def test_it_forgets_old_deletions(query: Query) -> None:
    old, new = story(day(1))[0], story(day(2))[0]
    DeletedStream.objects.create(stream_id=old, deleted_at=NOW - timedelta(days=31))
    DeletedStream.objects.create(stream_id=new, deleted_at=NOW - timedelta(days=29))
    apply()
    assert query("SELECT stream_id FROM records_deletedstream") == [(new,)]


def test_told_to_stop_it_begins_no_further_step(query: Query) -> None:
    store(story(day(200)), story(day(15)))
    Retaining(RULES, NOW).apply(lambda _: None, lambda: True)
    assert len(days()) == 6
    assert query("SELECT count(*) FROM records_stream") == [(2,)]


def test_a_run_is_noted_and_the_next_is_due_a_day_later(query: Query) -> None:
    store(story(day(15)))
    assert is_due(NOW)
    assert run_retention(RULES, NOW, lambda _: None)
    run = RetentionRun.objects.get()
    assert run.ended_at is not None
    assert {"rule": "chunks", "what": f"day {day(15).date()}", "number": 1} in [
        {name: each[name] for name in ("rule", "what", "number")} for each in run.freed
    ]
    assert not is_due(NOW + timedelta(hours=23))
    assert is_due(NOW + timedelta(hours=24))


def test_a_run_by_a_clock_that_was_ahead_makes_no_others_due_until_then(query: Query) -> None:
    for at in (NOW + timedelta(days=400), NOW):
        assert is_due(NOW)
        assert run_retention(RULES, at, lambda _: None)
    assert not is_due(NOW + timedelta(hours=1))


def test_what_was_stopped_or_failed_is_due_again_at_once(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    store(story(day(15)))
    assert run_retention(RULES, NOW, lambda _: None, lambda: True)
    assert RetentionRun.objects.get().ended_at is None
    assert is_due(NOW)
    monkeypatch.setattr(retention, "LOCK_SECONDS", 0.1)
    said: list[str] = []
    with psycopg.connect(conninfo()) as reader:
        reader.execute("SELECT count(*) FROM records_upstreamrun")
        with pytest.raises(OperationalError):
            run_retention(RULES, NOW, said.append)
        with pytest.raises(CommandError, match="applied only in part"):
            call_command("retention")
    assert said == []
    assert is_due(NOW)
    assert day(15).date() in days()
    assert run_retention(RULES, NOW, said.append)
    assert not is_due(NOW)
    assert day(15).date() not in days()


@pytest.mark.parametrize(("stream_days", "days_kept"), [(180, [1]), (0, [200, 1])])
def test_back_tests_and_earlier_runs_go_with_the_streams_of_their_time(
    query: Query, stream_days: int, days_kept: list[int]
) -> None:
    policy = PolicyVersion.objects.get(pk=make_policy()).policy
    for days_ago in (200, 1):
        Backtest.objects.create(policy=policy, kind=policy.kind, created_at=day(days_ago))
        RetentionRun.objects.create(started_at=day(days_ago), ended_at=day(days_ago))
    apply(Retention(chunk_days=14, stream_days=stream_days, kept_days=0))
    kept = [day(days_ago) for days_ago in days_kept]
    assert [*Backtest.objects.order_by("pk").values_list("created_at", flat=True)] == kept
    assert [*RetentionRun.objects.order_by("pk").values_list("started_at", flat=True)] == kept


def test_two_do_not_apply_it_at_once(query: Query) -> None:
    with psycopg.connect(conninfo(), autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [0x5245_5441_494E])
        assert not run_retention(RULES, NOW, lambda _: None)
    assert RetentionRun.objects.count() == 0


def test_the_command_shows_a_dry_run(query: Query) -> None:
    store(story(day(200)))
    said = StringIO()
    call_command("retention", dry_run=True, stdout=said)
    assert f"chunks: 1 day {day(200).date()}, about " in said.getvalue()
    assert " in all" in said.getvalue()
    assert query("SELECT count(*) FROM records_stream") == [(1,)]


def test_what_was_denied_at_once_goes_when_its_time_is_over_too(query: Query) -> None:
    """It has frames but no chunks, and may be in the default partition."""
    [old] = store(story(day(100)))
    for table in ("records_upstreamrun", "records_clientrun"):
        child = f"{table}_{day(100):%Y%m%d}"
        query(f"ALTER TABLE {table} DETACH PARTITION {child}")
        query(f"INSERT INTO {table} SELECT * FROM {child}")
        query(f"DROP TABLE {child}")
    query("DELETE FROM records_upstreamrun")
    assert streams_with(query, "clientrun") == {old}
    apply()
    assert streams_with(query, "clientrun") == set()


def test_a_run_by_a_clock_that_was_ahead_puts_none_off(query: Query) -> None:
    assert run_retention(RULES, NOW + timedelta(days=40), lambda _: None)
    assert is_due(NOW)


def test_a_session_that_gets_a_stream_meanwhile_stays(query: Query) -> None:
    old, new = store(story(day(200), session="old"), story(day(1), session="new"))
    Annotation.objects.create(stream_id=old, is_starred=True)
    apply()
    Annotation.objects.all().delete()
    into = Stream.objects.get(pk=old).session_id
    with ThreadPoolExecutor(1) as pool, psycopg.connect(conninfo()) as writer:
        move_stream(writer.cursor(), new, Stream.objects.get(pk=new).session_id, into)
        deleting = pool.submit(apply)
        pool.submit(connections.close_all)
        wait_for_a_lock(query)
        writer.commit()
        assert "streams deleted: 1" in deleting.result()
    assert query("SELECT session_id FROM records_stream") == query("SELECT id FROM records_session") == [(into,)]
