"""Tables that are sorted by what they show."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.http import QueryDict

from streamviz.dashboard import queries
from streamviz.dashboard.sorting import Sorting
from streamviz.records.models import ApiKey, LintNote
from tests.dashboard.conftest import NOON, Cast, recorded

FORTNIGHT = timedelta(days=14)


def labels(page: str) -> list[str]:
    return re.findall(r'row-link[^>]*"><bdi>([^<]*)', page)


def test_a_head_sorts_by_its_column_and_then_the_other_way_round() -> None:
    query = QueryDict("q=model%3Aa&before=x&sort=-cost")
    sorting = Sorting.asked(query, {"cost": True, "name": False})
    assert sorting.head("cost", "Cost") == ("Cost", "?q=model%3Aa&sort=cost", "descending")
    assert sorting.head("name", "Name") == ("Name", "?q=model%3Aa&sort=name", "")
    assert Sorting.asked(QueryDict("sort=password"), {"cost": True}).by == ""


def test_what_is_unknown_is_last_either_way() -> None:
    values: dict[str, Any] = {"cost": lambda row: row}
    for written, wanted in (("cost", [1, 2, None]), ("-cost", [2, 1, None]), ("", [2, None, 1])):
        sorting = Sorting.asked(QueryDict(f"sort={written}"), {"cost": True})
        assert sorting.of([2, None, 1], values) == wanted


@pytest.fixture
def sessions(cast: Cast) -> None:
    """Three, with figures in different orders; b's count all of its streams, though only one has the model."""
    recorded("a", minutes=3, cost=0.3, output_tokens=1, ended_at=NOON + timedelta(minutes=9))
    b = recorded("b", minutes=1, cost=0.2, output_tokens=2, ended_at=NOON + timedelta(minutes=2))
    failed = {"outcome": "upstream_error", "error": "timeout"}
    recorded("b", minutes=2, cost=0.2, session=b.session, requested_model="small", **failed)
    recorded("c", minutes=0, requested_model="small", ended_at=NOON + timedelta(minutes=4))


ORDERS = {"-cost": "bac", "cost": "abc", "tokens": "abc", "last": "cba", "-duration": "acb"}
FIRST = {"-streams": "b", "-outcome": "b", "-models": "c"}  # the others have equal values


def test_sessions_are_in_the_order_of_the_time_that_their_rows_show(cast: Cast) -> None:
    long = recorded("long", minutes=0)
    recorded("short", minutes=5)
    recorded("long", minutes=9, session=long.session, requested_model="small")
    for query, first, second in (("", "long 12:09", "short 12:05"), ("model:coder-large", "short 12:05", "long 12:00")):
        for sort, wanted in (("", [first, second]), ("-last", [first, second]), ("last", [second, first])):
            page = cast["bob"].get("/sessions/", {"range": "all", "sort": sort, "q": query}).content.decode()
            times = re.findall(r"21 Sep (12:\d\d):00</time>", page)
            assert [f"{label} {at}" for label, at in zip(labels(page), times, strict=True)] == wanted


@pytest.mark.parametrize(("written", "wanted"), [*ORDERS.items(), *FIRST.items()])
def test_sessions_are_sorted_by_what_their_rows_show(cast: Cast, sessions: None, written: str, wanted: str) -> None:
    found = labels(cast["bob"].get("/sessions/", {"range": "all", "sort": written}).content.decode())
    assert "".join(found)[: len(wanted)] == wanted
    assert len(found) == 3


def test_filters_and_pages_stay_with_the_order(cast: Cast, sessions: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SESSIONS_A_PAGE", 1)
    asked = {"range": "all", "sort": "-cost", "q": "model:coder-large"}
    page = cast["bob"].get("/sessions/", asked).content.decode()
    assert labels(page) == ["b"]
    assert 'aria-sort="descending"' in page
    [more] = re.findall(r'rel="next" href="([^"]*)"', page)
    following = cast["bob"].get(f"/sessions/{more.replace('&amp;', '&')}").content.decode()
    assert labels(following) == ["a"]
    assert 'rel="next"' not in following
    assert cast["bob"].get("/sessions/", asked | {"from": "9" * 30}).status_code == 200


def test_figures_by_time_and_broken_rules_can_be_sorted(cast: Cast) -> None:
    early, late = (recorded(minutes=minutes, requested_at=at) for minutes, at in ((0, NOON - FORTNIGHT), (9, NOON)))
    recorded(minutes=1, session=late.session, requested_at=NOON)
    for stream, rule, times in ((early, "one", 3), (late, "two", 1)):
        usual = {"at": stream.requested_at, "model": "a", "provider": "p"}
        LintNote.objects.create(stream_id=stream.pk, rule=rule, times=times, seq=0, **usual)
    for parameter, column, head in (("time_sort", "streams", "by-time"), ("rule_sort", "times", "lint-counts")):
        seen = []
        for order in ("", "-"):
            page = cast["bob"].get(f"/stats/?range=all&{parameter}={order}{column}").content.decode()
            body = page[page.index(f'id="{head}"') :].split("</tbody>")[0]
            seen.append(re.findall(r"<tr>.*?</tr>", body, re.DOTALL)[1:])
            assert f'aria-sort="{"descending" if order else "ascending"}"' in body
        assert len(seen[0]) == 2
        assert seen[0] == seen[1][::-1]


def test_errors_and_keys_can_be_sorted(cast: Cast) -> None:
    for minutes, error in enumerate(("timeout", "no such model", "no such model")):
        recorded(minutes=minutes, outcome="upstream_error", error=error)
    says = [r for sort in ("streams", "-streams", "says") for r in _first(cast, f"/errors/?range=all&sort={sort}")]
    assert says == ["timeout", "no such model", "no such model"]
    for name in ("zoe", "Adam"):
        ApiKey.objects.issue(name, by=None)
    page = cast["bob"].get("/keys/?sort=name").content.decode()
    assert page.index("Adam") < page.index("zoe")
    page = cast["bob"].get("/keys/?sort=-name").content.decode()
    assert page.index("zoe") < page.index("Adam")


def _first(cast: Cast, url: str) -> list[str]:
    return labels(cast["bob"].get(url).content.decode())[:1]
