"""Errors grouped by their message."""

import csv
import re
from html import unescape

import pytest

from streamviz.records.models import Annotation, ApiKey
from streamviz.records.queries import errors, rows, search
from streamviz.records.queries.errors import error_groups
from streamviz.records.queries.filters import Filters
from tests.dashboard.conftest import Cast, recorded


def failed(says: str, minutes: int, **changes: object) -> str:
    return str(recorded(minutes=minutes, outcome="upstream_error", error=says, **changes).pk)


def shown(cast: Cast, query: str = "range=all") -> str:
    return unescape(cast["bob"].get(f"/errors/?{query}").content.decode())


def test_errors_that_say_the_same_are_one_line_with_how_often_when_and_where(cast: Cast) -> None:
    key, _ = ApiKey.objects.issue("ci")
    failed("Rate limit of 30 reached for 'gpt-4' (request req_0a1b2c3d4e5f), retry in 1.5 s", 1, key=key)
    newest = failed("Rate limit of 500 reached for 'o4-mini' (request req_ffffeeee0000), retry in 20 s", 5)
    failed("no route to <b>host</b>", 3, requested_model="other")
    recorded("fine")
    page = shown(cast)
    says = re.findall(r'error-says"[^>]*><bdi>(.*?)</bdi>', page)
    assert says == ["Rate limit of N reached for … (request …), retry in N s", "no route to <b>host</b>"]
    row = page[page.index("Rate limit") : page.index("no route")]
    assert ">2</td>" in row
    assert "2026-09-21T12:05:00" in row
    assert "2026-09-21T12:01:00" in row
    assert re.findall(r'data-shows="moment"[^>]*>([^<]+)<', row) == ["21 Sep 12:05:00", "21 Sep 12:01:00"]
    assert f"/streams/{newest}/" in row
    assert "coder-large" in row
    assert "ci" in row
    assert "<b>host" not in cast["bob"].get("/errors/?range=all").content.decode()


def test_a_line_leads_to_its_streams(cast: Cast) -> None:
    failed("100 % of 7 'x' failed_here", 1)
    failed("100 % of 8 'y' failed-here", 2)
    recorded("fine")
    links = re.findall(r'error-says" href="([^"]+)"', shown(cast))
    assert [listed(cast, link) for link in links] == [1, 1]
    assert listed(cast, "/sessions/?range=all&q=error:failed*here") == 2


def listed(cast: Cast, path: str) -> int:
    return cast["bob"].get(path).content.decode().count("data-row")


def test_filters_and_time_are_those_of_sessions(cast: Cast) -> None:
    failed("broken", 1, requested_model="a")
    assert "broken" in shown(cast, "range=all&q=model:a")
    assert "No errors" in shown(cast, "range=all&q=model:coder-large")
    assert "No errors" in shown(cast, "since=2026-09-22T00:00:00Z&until=2026-09-23T00:00:00Z")


def test_of_very_many_the_newest_are_counted_and_from_when_on_is_said(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes in range(1, 6):
        failed("broken", minutes, requested_model="a" if minutes == 1 else "b")
    recorded("fine", minutes=9)
    monkeypatch.setattr(errors, "NEWEST", 3)
    groups, _, since, _ = error_groups(Filters())
    assert [(group.says, group.streams) for group in groups] == [("broken", 3)]
    assert since == groups[0].first
    assert error_groups(Filters(outcomes=("halted",))) == ([], False, since, 3)
    assert [(each.streams, each.models) for each in error_groups(Filters(models=("a",))).groups] == [(1, ["a"])]
    monkeypatch.setattr(errors, "NEWEST", 5)
    assert error_groups(Filters()).since is None
    assert "that failed are counted" not in shown(cast)


def test_fewer_are_counted_where_each_has_to_be_looked_into(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "NEWEST_COSTLY", 2)
    for minutes in range(1, 4):
        failed("broken", minutes)
    assert "that failed are counted" not in shown(cast)
    for query in ("error:broken", "-error:other"):
        assert "Only the newest 2 streams that failed are counted" in shown(cast, f"range=all&q={query}")
    monkeypatch.setattr(search, "COMMON", 0)
    assert "None of the newest 2 streams that failed matches" in shown(cast, "range=all&q=usual")


def test_what_is_rare_is_found_however_many_failed_since(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    old = recorded("long ago", minutes=1, outcome="upstream_error", error="broken long ago")
    old.blocks.create(ordinal=0, kind="tool_call", name="rare", first_seq=0, last_seq=0, started_at=old.requested_at)
    Annotation.objects.create(stream_id=old.pk, is_starred=True, labels=["flaky"], note="look at this")
    for minutes in range(2, 6):
        failed("broken", minutes)
    monkeypatch.setattr(errors, "NEWEST", 2)
    monkeypatch.setattr(errors, "NEWEST_COSTLY", 1)
    asked = ["long", "tool:rare", f"session:{old.session_id}", "starred:yes", "label:flaky", "note:look"]
    for query in (str(old.pk), *asked):
        page = shown(cast, f"range=all&q={query}")
        assert "broken long ago" in page
        assert "that failed are counted" not in page


def test_of_a_session_that_failed_very_often_the_newest_are_counted(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = recorded("often").session
    for minutes in range(1, 5):
        failed("broken", minutes, session=session)
        failed("of others", minutes)
    monkeypatch.setattr(errors, "NEWEST", 3)
    for query in (f"session:{session.pk}", str(session.pk)):
        told = cast["bob"].get(f"/errors/?range=all&q={query}&csv=1").content.decode()
        [line] = csv.DictReader(told.splitlines())
        assert (line["error"], line["streams"]) == ("broken", "3")
        assert line["counted_since"] == line["first"] == "2026-09-21T12:02:00+00:00"


def test_that_there_are_more_errors_is_said(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for minutes, says in enumerate(["one", "other", "third"]):
        failed(says, minutes)
    assert "there are more" not in shown(cast)
    monkeypatch.setattr(errors, "MOST", 2)
    page = shown(cast)
    assert "These are the first 2 errors in this order; there are more." in page
    assert page.count("error-says") == 2


def test_a_table_that_takes_too_long_is_no_table(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    failed("broken", 1)
    monkeypatch.setattr(rows, "SECONDS", 0.1)
    monkeypatch.setattr(
        errors, "_FIRST", "SELECT pg_sleep(5) FROM records_stream AS s WHERE {conditions} AND %(newest)s > 0"
    )
    assert cast["bob"].get("/errors/?range=all&csv=1").status_code == 503
    answer = cast["bob"].get("/errors/?range=all")
    assert answer.status_code == 200
    assert "This search took too long." in answer.content.decode()


def test_the_table_is_csv(cast: Cast) -> None:
    failed("=cmd() 1", 1, requested_model="a")
    newest = failed("=cmd() 2", 2, requested_model="b")
    answer = cast["bob"].get("/errors/?range=all&q=model:a+model:b&csv=1")
    assert answer["Content-Type"].startswith("text/csv")
    [line] = csv.DictReader(answer.content.decode().splitlines())
    assert line["error"] == "'=cmd() N"  # not a formula
    assert (line["streams"], line["models"], line["keys"]) == ("2", "a, b", "–")
    assert (line["newest_stream"], line["counted_since"]) == (str(newest), "")
    assert "csv=1" in shown(cast)
