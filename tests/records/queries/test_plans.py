"""Each query of the pages can use an index: Postgres never has to scan a big table."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from streamviz.dashboard import chunk_queries, policy_facts, queries
from streamviz.records.models import Policy, Session, Stream
from streamviz.records.queries import members, names, pages, policy_samples, search, streams
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.grouping import Grouping
from streamviz.records.queries.largest import largest
from streamviz.records.queries.pages import Place, session_page, sorted_session_page, stream_page
from streamviz.records.queries.policy_holds import holds, holds_of
from streamviz.records.queries.policy_verdicts import verdicts
from streamviz.records.queries.statistics import by_group, by_time
from tests.records.conftest import Query
from tests.records.history import NOW, day, make_policy, store, story

SCAN = re.compile(r"Seq Scan on (records_(?:stream|halfhour|block|verdict|session|upstreamrun|clientrun)\w*)")
PLACE = Place(NOW, Session().pk)
QUERIES: dict[str, Callable[[Stream], object]] = {
    "sessions": lambda _: session_page(Filters(), None, 50),
    "sessions, further back": lambda _: session_page(Filters(), PLACE, 50),
    "sessions and their totals": lambda _: queries.session_page(Filters(), PLACE),
    "sessions of a day": lambda _: session_page(Filters(since=day(1), until=NOW), None, 50),
    "sessions by cost": lambda _: sorted_session_page(
        Filters(since=day(1)), "cost", is_descending=True, start=0, size=9
    ),
    "by model": lambda _: session_page(Filters(models=("a",)), None, 50),
    "by key": lambda _: session_page(Filters(keys=("a",)), None, 50),
    "by outcome": lambda _: session_page(Filters(outcomes=("halted",)), None, 50),
    "by tool": lambda _: session_page(Filters(tools=("run_shell",)), None, 50),
    "by policy": lambda _: session_page(Filters(policies=("guard",)), None, 50),
    "by decision": lambda _: session_page(Filters(decisions=("deny",)), None, 50),
    "by intervention": lambda _: session_page(Filters(intervened=True), None, 50),
    "by star": lambda _: session_page(Filters(starred=True), None, 50),
    "by cost and time": lambda _: session_page(Filters(least_cost=1.0, least_seconds=1.0), None, 50),
    "by session": lambda _: session_page(Filters(sessions=("a",), since=day(30)), None, 50),
    "by what is left out": lambda _: session_page(
        Filters(without=Filters(models=("a",), keys=("a", ""), tools=("a",), intervened=True)), None, 50
    ),
    "by an unusual end": lambda _: session_page(Filters(finish_reasons=("length",)), None, 50),
    "by text": lambda _: session_page(Filters(text="look"), None, 50),
    "by id": lambda stream: session_page(Filters(text=str(stream.pk)), None, 50),
    "by short id": lambda stream: session_page(Filters(text=str(stream.pk)[:13]), None, 50),
    "sessions by short id": lambda stream: names.sessions_beginning_with(str(stream.session_id)[:13]),
    "streams": lambda _: stream_page(Filters(), PLACE, 50),
    "a session's streams": lambda stream: queries.streams_of(stream.session, None),
    "a stream": lambda stream: streams.entries_of(streams.load(stream.pk)),
    "its chunks": lambda stream: chunk_queries.chunk_page(stream, 0),
    "statistics": lambda _: by_time(Filters(since=day(30)), timedelta(days=1)),
    "statistics by session": lambda _: by_time(Filters(since=day(30)), timedelta(days=1), Grouping.SESSION),
    "statistics by key": lambda _: by_time(Filters(since=day(30)), timedelta(days=1), Grouping.KEY),
    "how many, under filters": lambda _: by_time(
        Filters(since=day(30), tools=("a",), policies=("a",)), timedelta(days=1), has_times=False
    ),
    "statistics of groups": lambda _: by_group(Filters(models=("a",)), day(30), NOW, timedelta(days=1), Grouping.MODEL),
    "half hours": lambda _: by_time(Filters(since=day(30), models=("a",)), timedelta(days=1), Grouping.MODEL),
    "how many, about": lambda _: by_time(
        Filters(since=day(30), text="look"), timedelta(days=1), has_times=False, may_estimate=True
    ),
    "the largest sessions": lambda _: largest(Filters(since=day(30)), Grouping.SESSION, 20),
    "the largest models": lambda _: largest(Filters(since=day(30)), Grouping.MODEL, 20),
    "of sessions": lambda _: by_time(
        Filters(since=day(30), sessions=("a",), starred=True), timedelta(days=1), Grouping.SESSION
    ),
    "where a policy did not run": lambda _: policy_facts.where_not(Policy(name="guard")),
    "a policy's verdicts": lambda _: policy_facts.recent_verdicts(Policy.objects.get(name="guard"), ""),
    "names": lambda _: (names.models(), names.tools()),
    "the oldest": lambda _: queries.oldest_stream(),
    "holds": lambda _: holds(day(30), NOW, timedelta(days=30)),
    "the holds of a policy": lambda _: holds_of("guard", day(30), NOW, timedelta(days=1)),
    "statistics of policies": lambda _: verdicts(day(30), NOW, timedelta(days=1)),
    "what a policy did": lambda _: policy_facts.done(Policy.objects.get(name="guard"), day(30), NOW),
}


def scanned(run: Callable[[], object], pattern: re.Pattern[str] = SCAN, *, is_run: bool = False) -> set[str]:
    """The big tables that the statements of `run` scan if there is an alternative; or whatever else the pattern matches
    in their plans, with measurements if `is_run`."""
    found: set[str] = set()

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with connection.cursor().cursor as cursor:
                cursor.execute(f"EXPLAIN {'ANALYZE ' if is_run else ''}{sql}", params)
                found.update(name for row in cursor.fetchall() for name in pattern.findall(row[0]))
        return execute(sql, params, many, context)

    with connection.cursor() as cursor, connection.execute_wrapper(explained):
        cursor.execute("SET enable_seqscan = off")
        try:
            run()
        finally:
            cursor.execute("RESET enable_seqscan")
    return found


@pytest.fixture
def stream(query: Query) -> Stream:
    [stream_id] = store(story(day(1), denied=make_policy()))
    return Stream.objects.select_related("session").get(pk=stream_id)


@pytest.mark.parametrize("run", QUERIES.values(), ids=QUERIES)
def test_each_query_of_a_page_goes_along_an_index(stream: Stream, run: Callable[[Stream], object]) -> None:
    assert scanned(lambda: run(stream)) == set()


@pytest.mark.parametrize("name", ["holds", "the holds of a policy", "statistics of policies", "what a policy did"])
def test_some_of_many_are_looked_for_along_indexes_too(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(policy_samples, "_one_in", lambda *_: 64)
    assert scanned(lambda: QUERIES[name](stream)) == set()


def test_a_common_word_is_looked_for_along_indexes_too(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "COMMON", 0)
    assert scanned(lambda: session_page(Filters(text="look"), None, 50)) == set()


def test_no_session_waits_until_a_common_word_is_found_in_all(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many partitions, Postgres would find all matches first, to join streams with later ones that match."""
    monkeypatch.setattr(search, "COMMON", 0)
    assert scanned(lambda: session_page(Filters(text="look"), None, 50), re.compile("Anti Join")) == set()


def test_only_what_is_found_is_asked_whether_it_is_the_newest_of_its_session(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "FEW", 0)
    monkeypatch.setattr(search, "COMMON", 0)
    asked_of_all = re.compile(r"(?<!THEN )COALESCE\(\(SubPlan \d+\), true\)")
    for filters in (Filters(policies=("guard",)), Filters(tools=("run_shell",)), Filters(text="look")):
        assert scanned(lambda: session_page(filters, None, 50), asked_of_all) == set()  # noqa: B023


def test_a_page_that_new_streams_fill_looks_at_no_older_ones(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition without any match would be read completely."""
    store(
        *(story(day(50), number=n, provider="old") for n in range(9)),
        *(story(day(1), number=10 + n, provider="new") for n in range(9)),
    )
    wanted, left_out = Filters(providers=("new",)), re.compile(r"Rows Removed by Filter: (\d+)")
    assert scanned(lambda: stream_page(wanted, None, 2), left_out, is_run=True) >= {"9"}
    monkeypatch.setattr(pages, "FIRST_STRETCH", 5)
    # One of the newest, the fixture's, may not match.
    assert scanned(lambda: stream_page(wanted, None, 2), left_out, is_run=True) - {"1"} == set()
    assert scanned(lambda: stream_page(Filters(providers=("old",)), None, 2), left_out, is_run=True) - {"1"}


def test_whether_a_word_is_common_is_told_by_some_streams_alone(stream: Stream) -> None:
    """For a hashed subplan, Postgres would first find all matches in the record."""
    assert scanned(lambda: session_page(Filters(text="look"), None, 50), re.compile("hashed SubPlan")) == set()


def test_it_tells_why_a_policy_did_not_run(stream: Stream) -> None:
    not_run = [{"policy": name, "version": 1, "mode": "enforce", "why": "images"} for name in ("guard", "other")]
    Stream.objects.update(not_run=not_run, requested_at=timezone.now())
    assert policy_facts.where_not(Policy(name="guard")) == [("images", 1)]
    assert policy_facts.where_not(Policy(name="none")) == []


READERS: dict[str, Callable[[Stream], object]] = {
    "a policy's verdicts": lambda _: policy_facts.recent_verdicts(Policy.objects.get(name="guard"), ""),
    "a session's streams": lambda stream: queries.streams_of(stream.session, None),
}


@pytest.mark.parametrize("run", READERS.values(), ids=READERS)
def test_lists_do_not_read_what_was_asked(stream: Stream, run: Callable[[Stream], object]) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert run(stream)
    assert not any(re.search(r'"request"(?!\))', each["sql"]) for each in asked)


def test_a_scan_would_be_seen(stream: Stream) -> None:
    found = scanned(lambda: list(Stream.objects.filter(client="x").order_by()))
    assert "records_stream_default" in found
    assert all(name.startswith("records_stream_") for name in found)
