"""The Sessions page: newest first, a page at a time, searched."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from streamviz.dashboard import queries
from streamviz.records.queries import search
from tests.dashboard.conftest import Cast, recorded


def labels(cast: Cast, path: str = "/sessions/") -> list[str]:
    """What the page lists, and the pages behind it."""
    shown = cast["bob"].get(path).content.decode()
    found = re.findall(r'class="row-link"[^>]*><bdi>(.*?)</bdi>', shown)
    following = re.search(r'rel="next" href="([^"]+)"', shown)
    return [*found, *(labels(cast, "/sessions/" + following[1].replace("&amp;", "&")) if following else [])]


def test_each_session_is_on_one_page_the_newest_first(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SESSIONS_A_PAGE", 2)
    first = recorded("one", minutes=1).session
    for n, name in enumerate(["two", "three", "four"], 2):
        recorded(name, minutes=n)
    recorded(minutes=9, session=first)
    assert labels(cast) == ["one", "four", "three", "two"]


def test_a_search_finds_labels_models_and_ids(cast: Cast) -> None:
    recorded("nightly triage")
    wanted = recorded("something else", requested_model="acme/coder-small")
    assert labels(cast, "/sessions/?q=night") == ["nightly triage"]
    assert labels(cast, "/sessions/?q=coder-small") == ["something else"]
    assert labels(cast, f"/sessions/?q={wanted.pk}") == ["something else"]
    assert labels(cast, f"/sessions/?q={wanted.session_id}") == ["something else"]
    assert labels(cast, "/sessions/?q=nowhere") == []
    assert "No session has “nowhere”" in cast["bob"].get("/sessions/?q=nowhere").content.decode()


@pytest.mark.parametrize("path", ["/sessions/", "/sessions/?q=coder"])
def test_it_takes_as_many_queries_for_many_sessions_as_for_one(cast: Cast, path: str) -> None:
    recorded("one")
    numbers = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as made:
            numbers.append((len(labels(cast, path)), len(made)))
        for n in range(10):
            recorded(f"more {n}", minutes=n + 1)
    (_, few), (_, many) = numbers
    assert [found for found, _ in numbers] == [1, 11]
    assert few == many


def test_it_says_when_a_search_took_too_long(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded("one")
    monkeypatch.setattr(search, "SECONDS", 0.1)
    slow = "SELECT id FROM records_stream, pg_sleep(5) WHERE %(text)s <> %(most)s::text"
    monkeypatch.setattr(search, "_MATCHING_STREAMS", slow)
    assert "This search took too long." in cast["bob"].get("/sessions/?q=one").content.decode()
