"""Pages of streams and sessions: their contents and order, and that each entry is on one page only."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from streamviz.records.models import ApiKey, Session
from streamviz.records.queries import pages
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import Page, Place, session_page, stream_page
from tests.records.conftest import Query
from tests.records.history import NOW, day, make_policy, store, story, tool_stream

HOUR = timedelta(hours=1)
Paged = Callable[[Filters, Place | None, int], Page]


def all_pages(paged: Paged, filters: Filters, size: int) -> list[uuid.UUID]:
    """The ids of all pages, one after another."""
    page = paged(filters, None, size)
    found = list(page.ids)
    while page.following:
        assert Place.read(str(page.following)) == page.following
        page = paged(filters, page.following, size)
        found += page.ids
    return found


def labels(filters: Filters, size: int = 50) -> list[str]:
    """The labels of all sessions that the filters select."""
    names = dict(Session.objects.values_list("id", "label"))
    return [names[session_id] for session_id in all_pages(session_page, filters, size)]


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_streams_come_newest_first_and_each_once(query: Query, size: int) -> None:
    ids = store(*(story(NOW - HOUR * n, number=n) for n in range(5)), *(story(NOW, number=n) for n in range(7, 9)))
    assert all_pages(stream_page, Filters(), size) == [ids[6], ids[5], *ids[:5]]


@pytest.mark.parametrize("size", [1, 2, 50])
def test_a_session_stands_where_its_newest_stream_does(query: Query, size: int) -> None:
    told = {"old": 9, "both": 8, "middle": 5, "new": 2}
    store(*(story(NOW - HOUR * n, session=name) for name, n in told.items()), story(NOW, session="both"))
    assert labels(Filters(), size) == ["both", "new", "middle", "old"]


def test_under_a_filter_it_stands_where_the_newest_that_fits_does(query: Query) -> None:
    store(
        story(NOW - HOUR * 8, session="both", requested_model="a"),
        story(NOW - HOUR * 5, session="one", requested_model="a"),
        story(NOW, session="both", requested_model="b"),
    )
    assert labels(Filters(models=("a",)), 1) == ["one", "both"]


CLIENTS_ID = "0199a1b2-0000-7000-8000-00000000c0de"


@pytest.fixture
def history(query: Query) -> None:
    """Streams that differ in one thing each, each in a session named after it."""
    key, _ = ApiKey.objects.issue("nightly")
    store(
        story(day(1), session="plain", session_name="ses_1"),
        story(day(9), session="old", session_name=CLIENTS_ID),
        story(day(1), session="model", number=1, requested_model="o4-mini"),
        story(day(1), session="key", number=2, key_id=key.pk),
        story(day(1), session="provider", number=3, provider="anthropic"),
        story(day(1), session="failed", number=4, outcome="upstream_error"),
        story(day(1), session="length", number=5, finish_reason="length"),
        story(day(1), tool_stream(name="run_shell"), session="tool", number=6),
        story(day(1), session="denied", number=7, denied=make_policy("guard")),
        story(day(1), session="dear", number=8, cost=3.5),
        story(day(2), session="long", number=9, ended_at=round((day(2).timestamp() + 600) * 10**6)),
    )
    Session.objects.filter(label="old").update(is_starred=True)


FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "since": ({"since": day(1.5)}, {"old", "long"}),
    "until": ({"until": day(5)}, {"-old"}),
    "model": ({"models": ("o4-mini", "other")}, {"-model"}),
    "key": ({"keys": ("nightly",)}, {"-key"}),
    "provider": ({"providers": ("anthropic",)}, {"-provider"}),
    "outcome": ({"outcomes": ("upstream_error", "halted")}, {"-failed"}),
    "finish_reason": ({"finish_reasons": ("length",)}, {"-length"}),
    "tool": ({"tools": ("run_shell",)}, {"-tool"}),
    "policy": ({"policies": ("guard",)}, {"-denied"}),
    "decision": ({"decisions": ("deny",)}, {"-denied"}),
    "intervened": ({"intervened": True}, {"-denied"}),
    "not intervened": ({"intervened": False}, {"denied"}),
    "starred": ({"starred": True}, {"-old"}),
    "cost": ({"least_cost": 1.0}, {"-dear"}),
    "duration": ({"least_seconds": 60}, {"-long"}),
    "label": ({"sessions": ("plain", "old")}, {"-plain", "-old"}),
    "name": ({"sessions": ("ses_1",)}, {"-plain"}),
    "neither label nor name": ({"sessions": ("",)}, {"-"}),
    "text in a name": ({"text": "ses_1"}, {"-plain"}),
    "an id that a client gave": ({"text": CLIENTS_ID}, {"-old"}),
    "no key": ({"keys": ("",)}, {"key"}),
    "a key or none": ({"keys": ("nightly", "")}, set()),
    "in shadow": ({"decisions": ("would deny",)}, {"-"}),
    "without a model": ({"without": Filters(models=("o4-mini",))}, {"model"}),
    "without a key": ({"without": Filters(keys=("nightly",))}, {"key"}),
    "without several": ({"without": Filters(tools=("run_shell",), intervened=True)}, {"tool", "denied"}),
    "with and without": ({"decisions": ("deny",), "without": Filters(decisions=("deny",))}, {"-"}),
    "two at once": ({"models": ("o4-mini",), "tools": ("run_shell",)}, {"-"}),
    "text": ({"text": "run_shell"}, {"-tool"}),
    "text with others": ({"text": "app.py", "outcomes": ("upstream_error",)}, {"-failed"}),
}
EVERYTHING = {"plain", "old", "model", "key", "provider", "failed", "length", "tool", "denied", "dear", "long"}


@pytest.mark.parametrize(("wanted", "expected"), FILTERS.values(), ids=FILTERS)
def test_each_filter_finds_the_same_sessions_on_pages_of_any_size(
    history: None, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], expected: set[str]
) -> None:
    """`expected` are the sessions that are left out, or, with a dash, the only ones found."""
    only = {name[1:] for name in expected if name.startswith("-")} - {""}
    is_only = any(name.startswith("-") for name in expected)
    found = labels(Filters(**wanted))
    assert set(found) == (only if is_only else EVERYTHING - expected)
    monkeypatch.setattr(pages, "FIRST_STRETCH", 2)
    for size in (1, 2, 50):
        assert labels(Filters(**wanted), size) == found


@pytest.mark.parametrize("text", ["", "x", "1_", "_", f"x_{uuid.UUID(int=1)}", f"{10**30}_{uuid.UUID(int=1)}"])
def test_a_place_that_is_none_of_ours_is_none(text: str) -> None:
    assert Place.read(text) is None
