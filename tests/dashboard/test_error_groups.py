"""Errors by what they say."""

import csv
import re
from html import unescape

import pytest

from streamviz.records.models import ApiKey
from streamviz.records.queries import errors, search
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


def test_of_very_many_the_newest_are_counted_and_from_when_on_is_said(cast: Cast) -> None:
    for minutes in range(1, 6):
        failed("broken", minutes, requested_model="a" if minutes == 1 else "b")
    recorded("fine", minutes=9)
    groups, since, _ = error_groups(Filters(), newest=3)
    assert [(group.says, group.streams) for group in groups] == [("broken", 3)]
    assert since == groups[0].first
    assert error_groups(Filters(outcomes=("halted",)), newest=3) == ([], since, 3)
    assert [(each.streams, each.models) for each in error_groups(Filters(models=("a",)), newest=3).groups] == [
        (1, ["a"])
    ]
    assert error_groups(Filters(), newest=5).since is None
    assert "Counted are the newest" not in shown(cast)


def test_fewer_are_counted_where_each_has_to_be_looked_into(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "NEWEST_COSTLY", 2)
    for minutes in range(1, 4):
        failed("broken", minutes)
    assert "Counted are the newest" not in shown(cast)
    for query in ("error:broken", "-error:other"):
        assert "Counted are the newest 2 that failed" in shown(cast, f"range=all&q={query}")
    monkeypatch.setattr(search, "COMMON", 0)
    assert "No errors among the newest 2 that failed" in shown(cast, "range=all&q=usual")


def test_what_hardly_any_stream_is_is_found_however_many_failed_since(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = failed("broken long ago", 1)
    for minutes in range(2, 6):
        failed("broken", minutes)
    monkeypatch.setattr(errors, "NEWEST", 2)
    monkeypatch.setattr(errors, "NEWEST_COSTLY", 1)
    page = shown(cast, f"range=all&q={old}")
    assert "broken long ago" in page
    assert "Counted are the newest" not in page


def test_the_table_is_csv(cast: Cast) -> None:
    failed("=cmd() 1", 1, requested_model="a")
    newest = failed("=cmd() 2", 2, requested_model="b")
    answer = cast["bob"].get("/errors/?range=all&q=model:a+model:b&csv=1")
    assert answer["Content-Type"].startswith("text/csv")
    [line] = csv.DictReader(answer.content.decode().splitlines())
    assert line["error"] == "'=cmd() N"  # no formula
    assert (line["streams"], line["models"], line["keys"]) == ("2", "a, b", "–")
    assert (line["newest_stream"], line["counted_since"]) == (str(newest), "")
    assert "csv=1" in shown(cast)
