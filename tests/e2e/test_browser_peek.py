"""If a peek cannot be loaded, the list gets its space back."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.scripts import page_of_ours

STREAM = "01a22665-95db-7f58-9072-712299871288"
HTML = f"""<!doctype html><body data-base="/"><ul id="wall"><li id="r-{STREAM.replace("-", "")}">
<a class="row-link" href="/streams/{STREAM}/">one</a></li></ul><aside id="peek" hidden>a stream</aside>
<script>window.htmx = {{ ajax() {{}}, swap() {{}} }}</script>
<script type="module">import {{ start }} from "/js/peek.js"; start(); document.body.id = "ready";</script>"""
# The events that htmx dispatches: on the body, with the target and the path of the request.
FAILS = """([kind, id]) => document.body.dispatchEvent(new CustomEvent(kind, { bubbles: true, detail: {
    target: document.getElementById("peek"), pathInfo: { requestPath: `/streams/${id}/peek/` } } }))"""
OTHER = "01a22665-95db-7f58-9072-000000000000"


@pytest.fixture(scope="module")
def opened(chromium: Browser) -> Iterator[Page]:
    with page_of_ours(chromium, HTML) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    opened.goto(f"/?peek={STREAM}")
    opened.wait_for_selector("#ready")
    expect(opened.locator("#peek")).to_be_visible()
    return opened


@pytest.mark.parametrize("kind", ["htmx:responseError", "htmx:sendError"])
def test_a_peek_that_does_not_come_closes(page: Page, kind: str) -> None:
    page.evaluate(FAILS, [kind, STREAM])
    expect(page.locator("#peek")).to_be_hidden()
    assert "peek" not in page.url


def test_a_peek_that_was_left_for_another_closes_nothing(page: Page) -> None:
    page.evaluate(FAILS, ["htmx:responseError", OTHER])
    expect(page.locator("#peek")).to_be_visible()
