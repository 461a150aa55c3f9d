"""Saved views of the history: each user has their own."""

from typing import Any

import pytest

from streamviz.dashboard.views import saved_views
from streamviz.records.models import SavedView
from tests.dashboard.conftest import Cast

NIGHTLY = {"name": "<b>Nightly</b>", "page": "sessions", "query": "q=key%3Anightly+outcome%3Ahalted&range=7d&x=y"}
URL = "/sessions/?q=key%3Anightly+outcome%3Ahalted&range=7d"


def names() -> list[str]:
    return list(SavedView.objects.values_list("name", flat=True))


def test_a_view_is_in_the_navigation_of_who_kept_it(cast: Cast) -> None:
    answer: Any = cast["bob"].post("/views/", NIGHTLY)
    assert answer.url == URL
    page = cast["bob"].get("/stats/").content.decode()
    assert "&lt;b&gt;Nightly&lt;/b&gt;" in page
    assert URL.replace("&", "&amp;") in page
    assert "Nightly" not in cast["alice"].get("/sessions/").content.decode()
    assert 'aria-current="page"' in cast["bob"].get(URL).content.decode().split("nav-view")[1][:200]


def test_a_view_of_the_same_name_replaces_the_one_before(cast: Cast) -> None:
    cast["bob"].post("/views/", NIGHTLY)
    cast["bob"].post("/views/", NIGHTLY | {"page": "errors", "query": "range=1h"})
    assert [view.url for view in SavedView.objects.all()] == ["/errors/?range=1h"]


def test_only_ones_own_view_is_deleted(cast: Cast) -> None:
    cast["bob"].post("/views/", NIGHTLY)
    path = f"/views/{SavedView.objects.get().pk}/delete/"
    assert cast["alice"].post(path).status_code == 302
    assert len(names()) == 1
    for _ in range(2):  # the second time from another tab, which still lists it
        assert cast["bob"].post(path).status_code == 302
        assert names() == []


def test_a_view_is_renamed_by_its_owner_and_never_to_a_name_that_is_taken(cast: Cast) -> None:
    cast["bob"].post("/views/", NIGHTLY)
    path = f"/views/{SavedView.objects.get().pk}/rename/"
    assert f'action="{path}"' in cast["bob"].get("/sessions/").content.decode()
    answer: Any = cast["bob"].post(path, {"name": "Every night"})
    assert answer.url == URL
    assert names() == ["Every night"]
    assert cast["alice"].post(path, {"name": "hers"}).status_code == 404
    cast["bob"].post("/views/", NIGHTLY)
    for name in (NIGHTLY["name"], "", "x" * 61):
        cast["bob"].post(path, {"name": name})
    assert set(names()) == {"Every night", NIGHTLY["name"]}


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "x" * 61},
        {"name": "a\x07b"},
        {"name": "a\u200bb"},
        {"page": "admin:index"},
        {"query": "q=" * 600},
    ],
)
def test_what_is_no_view_is_not_kept(cast: Cast, change: dict[str, str]) -> None:
    cast["bob"].post("/views/", NIGHTLY | change)
    assert names() == []


def test_a_user_keeps_no_more_views_than_the_limit(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_views, "MOST", 1)
    cast["bob"].post("/views/", NIGHTLY)
    cast["bob"].post("/views/", NIGHTLY | {"name": "another"})
    assert len(names()) == 1
