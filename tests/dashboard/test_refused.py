"""The page of requests that were refused before they became streams, and the line about them on others."""

from collections.abc import Iterator
from html import unescape

import pytest

from streamviz.dashboard.views.refused import LATELY_US
from streamviz.live.feed import Feed, now_us
from streamviz.live.publisher import publisher
from streamviz.live.refusals import Refusals
from tests.dashboard.conftest import Cast
from tests.live.test_refusals import refusal

LINE = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def feed() -> Iterator[Feed]:
    publisher.feed.refusals = Refusals()
    yield publisher.feed
    publisher.feed.refusals = Refusals()


def page(cast: Cast, headers: dict[str, str] | None = None) -> str:
    return str(cast["bob"].get("/errors/refused/", headers=headers or {}).content.decode())


def test_where_nothing_was_refused_the_page_says_so(cast: Cast) -> None:
    assert "No refused requests" in page(cast)
    assert '<a class="wide-only" href="/errors/" data-list data-up>Errors</a>' in page(cast)
    assert "Refused" not in page(cast, LINE)


def test_a_row_says_who_was_told_what(cast: Cast, feed: Feed) -> None:
    now = now_us()
    hostile = "<script>\u202e\x1b"
    feed.refusals.note(
        refusal(path=f"/v1/{hostile}", user_agent=hostile, message=hostile, code=hostile, last_at=now - 1)
    )
    revoked = refusal(key="ci", is_revoked=True, model="gpt-9", first_at=now, last_at=now)
    feed.refusals.note(revoked)
    feed.refusals.note(revoked)
    shown = page(cast)
    assert "<script>\u202e" not in shown
    assert "\x1b" not in shown
    rows = unescape(shown).partition("<tbody>")[2].split("<tr>")[1:]
    assert rows[1].count("<script>⟨U+202E⟩␛") == 4
    said = ("ci", "revoked", "gpt-9", "claude-cli/2.0", "10.0.0.1", "r-1")
    assert [word for word in said if word not in rows[0]] == []
    assert ">2</td>" in rows[0]


def test_live_and_errors_have_a_line_that_looks_for_more(cast: Cast, feed: Feed) -> None:
    for path in ("/", "/errors/"):
        shown = cast["bob"].get(path).content.decode()
        assert 'id="refused-lately" hx-get="/errors/refused/" hx-trigger="load, every 5s"' in shown
        assert 'href="/errors/refused/"' in shown or path == "/"
        assert 'id="refused-lately"' in shown.rpartition("</section>")[2]  # below what it would move
    feed.refusals.note(refusal(message="an old one", last_at=now_us() - LATELY_US))
    line = page(cast, LINE)
    assert line.startswith('<div id="refused-lately" hx-get="/errors/refused/" hx-trigger="every 5s"')
    assert "an old one" not in line
    feed.refusals.note(refusal(last_at=now_us()))
    assert "No API key was sent." in page(cast, LINE)
    assert "See it</a>" in page(cast, LINE)
    feed.refusals.note(refusal(status=404, last_at=now_us()))
    assert "See it and 1 more" in page(cast, LINE)
