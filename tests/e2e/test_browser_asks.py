"""How an open page reports streams that wait for a person, in the tab's title and by notifications."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.scripts import CONNECT, LOST, page_of_ours, say

ASKS = '<li id="nav-asks" data-asks="{}"{}></li>'
OOB = ' hx-swap-oob="true"'
POLL_MS = 15_000
# Record which notifications were shown and which were closed.
NOTIFICATION = """window.shown = []; window.Notification = class {
    static permission = "granted";
    constructor(title, options) { Object.assign(this, options, { title, isClosed: false }); shown.push(this); }
    close() { this.isClosed = true; this.onclose?.(); }
}; localStorage.setItem("streamviz.notify /", "yes");"""
END = """document.getElementById("socket").dispatchEvent(new CustomEvent("htmx:wsBeforeMessage", {
    bubbles: true, cancelable: true, detail: { message: "1 end 1 0\\n", socketWrapper: { send() {} } } }))"""
# Also record the server's answer to a script.
NOTES_ANSWER = """() => { const own = Response.prototype.text;
    Response.prototype.text = function () { return window.answer = own.call(this); }; }"""
HTML = f"""<!doctype html><title>Live</title><body data-base="/"><div id="socket" data-pill="pill"></div>
<span id="pill"></span><div id="notices"></div><p id="asks-told" role="status"></p>
<button id="pause"><span></span><svg><use></use></svg></button>
{ASKS.format(0, "")}
<script>window.htmx = {{ config: {{}}, process() {{}} }}</script><script type="module">
import {{ start as startSocket }} from "/js/socket.js"; import {{ start as startAsks }} from "/js/asks.js";
startSocket(); startAsks(); document.body.id = "ready";</script>"""


@pytest.fixture(scope="module")
def opened(chromium: Browser) -> Iterator[Page]:
    with page_of_ours(chromium, HTML) as page:
        page.add_init_script(NOTIFICATION)
        page.clock.install()
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    """Live, connected. The server reports that one stream waits."""
    opened.unroute("**/needs-you/")
    opened.route("**/needs-you/", lambda route: route.fulfill(body=ASKS.format(1, OOB), content_type="text/html"))
    opened.goto("/")
    opened.wait_for_selector("#ready")
    opened.evaluate(CONNECT)
    say(opened, 0, "")
    return opened


def shown(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate("shown")
    return found


@pytest.mark.parametrize("cut", [END, LOST, "document.getElementById('pause').click()"], ids=["over", "lost", "paused"])
def test_a_page_that_is_told_nothing_asks_by_itself(page: Page, cut: str) -> None:
    page.evaluate(cut)
    page.clock.fast_forward(POLL_MS)
    expect(page).to_have_title("(1) Live")
    assert [one["title"] for one in shown(page)] == ["A stream needs you"]


def test_where_nobody_answers_the_title_says_that_it_is_not_known(page: Page) -> None:
    say(page, 1, ASKS.format(2, OOB))
    expect(page).to_have_title("(2) Live")
    page.evaluate(LOST)
    page.unroute("**/needs-you/")
    page.route("**/needs-you/", lambda route: route.abort())
    page.clock.fast_forward(POLL_MS)
    expect(page).to_have_title("(?) Live")
    say(page, 0, ASKS.format(0, OOB))
    expect(page).to_have_title("Live")


def test_what_was_asked_before_the_connection_came_back_counts_no_more(page: Page) -> None:
    asked: list[Route] = []
    page.unroute("**/needs-you/")
    page.route("**/needs-you/", lambda route: asked.append(route))
    page.evaluate(NOTES_ANSWER)
    page.evaluate(LOST)
    with page.expect_request("**/needs-you/"):
        page.clock.fast_forward(POLL_MS)
    say(page, 0, ASKS.format(3, OOB))
    asked[0].fulfill(body=ASKS.format(1, OOB), content_type="text/html")
    page.wait_for_function("window.answer")
    page.evaluate("answer")
    expect(page).to_have_title("(3) Live")


def test_a_notification_goes_once_nobody_waits_and_each_new_one_is_heard(page: Page) -> None:
    for number, asks in enumerate((1, 2, 1, 0), 1):
        say(page, number, ASKS.format(asks, OOB))
    told = [("A stream needs you", True), ("2 streams need you", True), ("A stream needs you", False)]
    assert [(one["title"], one["renotify"]) for one in shown(page)] == told
    assert shown(page)[-1]["isClosed"]


def test_a_screen_reader_says_that_more_wait_and_not_that_fewer_do(page: Page) -> None:
    said = page.locator("#asks-told")
    for number, (asks, words) in enumerate(((1, "A stream needs you"), (3, "3 streams need you"), (2, ""), (0, "")), 1):
        say(page, number, ASKS.format(asks, OOB))
        expect(said).to_have_text(words)


def test_a_question_that_replaces_another_is_heard(page: Page) -> None:
    for number, newest in enumerate((5, 9, 7, 9), 1):
        say(page, number, ASKS.format(1, f' data-newest="{newest}"{OOB}'))
    assert [(one["title"], one["renotify"]) for one in shown(page)] == [("A stream needs you", True)] * 2


def test_a_page_of_before_an_update_offers_to_be_loaded_anew(page: Page) -> None:
    notice = page.get_by_role("status").filter(has_text="streamviz was updated")
    for number, (version, offers) in enumerate((("1", 0), ("1", 0), ("2", 1), ("2", 1)), 1):
        say(page, number, ASKS.format(0, f' data-version="{version}"{OOB}'))
        expect(notice).to_have_count(offers)
    with page.expect_navigation():
        notice.get_by_role("button", name="Reload").click()


def test_processes_of_two_versions_are_no_update(page: Page) -> None:
    for number, (teller, version) in enumerate((("screens", 1), ("server", 2), ("screens", 1)), 1):
        say(page, number, ASKS.format(number, f' data-version="{version}" data-teller="{teller}"{OOB}'))
    expect(page).to_have_title("(3) Live")
    assert not page.get_by_text("streamviz was updated").count()


def test_a_page_that_goes_leaves_no_notification(page: Page) -> None:
    say(page, 1, ASKS.format(1, OOB))
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    assert shown(page)[-1]["isClosed"]
