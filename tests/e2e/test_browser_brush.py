"""Dragging across a chart leads to the streams of that time span."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, Route

from streamviz.dashboard.chart_markup import bars
from streamviz.dashboard.charts import Brush, Column, stacked
from streamviz.dashboard.chosen_timespans import chosen
from streamviz.dashboard.links import sessions_between
from streamviz.dashboard.timespans import between

NOON = datetime(2026, 9, 21, 12, tzinfo=UTC)
SCRIPT = '<script type="module">import { start } from "/brush.js"; start(); document.title = "ready";</script>'


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Twelve hours, 720 pixels wide, each with a bar that is a link."""
    span = chosen(between(NOON, NOON + timedelta(hours=12)), NOON, None)
    hours = [Column(at, f"{n} streams", "/bar", [("calm", n + 1)]) for n, at in enumerate(span.steps)]
    drawn = bars(stacked(hours), [], brush=Brush(span, sessions_between("model:a b")))
    style = "<style>body { margin: 0 } .bars { display: block; width: 720px; height: 100px }</style>"
    files = {"/": f"<!doctype html>{style}{drawn}{SCRIPT}", "/brush.js": _script()}

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        kind = "text/javascript" if path.endswith(".js") else "text/html"
        route.fulfill(body=files.get(path, "elsewhere"), content_type=kind)

    with chromium.new_context(base_url="http://drawing.test") as context:
        context.route("**/*", answer)
        found = context.new_page()
        found.goto("/")
        found.wait_for_function("document.title === 'ready'")
        yield found


def _script() -> str:
    return (Path(settings.BASE_DIR) / "static/js/brush.js").read_text()


def test_a_drag_chooses_whole_steps(page: Page) -> None:
    page.mouse.move(70, 50)
    page.mouse.down()
    page.mouse.move(200, 50)
    assert page.locator(".chart-brush").count() == 1
    page.mouse.up()
    page.wait_for_url("**/sessions/**")
    asked = {"q": ["model:a b"], "since": ["2026-09-21T13:00:00Z"], "until": ["2026-09-21T15:30:00Z"]}
    assert parse_qs(urlsplit(page.url).query) == asked


def test_a_click_follows_the_link_of_the_bar(page: Page) -> None:
    page.mouse.click(70, 80)
    page.wait_for_url("**/bar")


def test_escape_lets_go(page: Page) -> None:
    page.mouse.move(70, 50)
    page.mouse.down()
    page.mouse.move(200, 50)
    page.keyboard.press("Escape")
    assert page.locator(".chart-brush").count() == 0
    page.mouse.up()
    assert urlsplit(page.url).path == "/"
