"""The keyboard stays where somebody is while what they are at is replaced."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, Route

HEAD = '<summary class="card-head" id="b0-head"{}>Thinking {}</summary>'
CALL = (
    '<header class="card-head{}" id="b1-head"{}><button type="button" data-raw="b1">Raw</button>'
    '<button type="button" data-copy-from="b1-text">Copy</button><a href="#b1">Link</a></header>'
)
ASKS = (
    '<ol id="hold-list"{}><li id="h{}"><a href="#b{}">call</a>'
    '<button class="button button-allow" type="button" id="h{}-allow">Allow</button></li></ol>'
)
NO_ASKS = '<ol id="hold-list"{}></ol>'
ROW = (
    '<li class="stream-row" id="r-0"{}><div class="row-who" id="r-0-who"><a class="row-link" href="/x">one</a></div>'
    '<div id="r-0-calls"><details id="r-0-unfold"><summary>{} calls</summary></details></div></li>'
)
PANES = (
    '<div id="panes"{}><details class="block-card"><summary>{}</summary></details>{}'
    '<details class="not-run"><summary>Did not run</summary></details></div>'
)
MORE = '<details class="block-card"><summary>Another</summary></details>'
OOB = ' hx-swap-oob="true"'
SAY = """([number, html]) => document.getElementById("socket").dispatchEvent(new CustomEvent("htmx:wsBeforeMessage", {
    bubbles: true, cancelable: true, detail: { message: `${number} ${number ? "delta" : "snapshot"} 1 0\\n${html}`,
    socketWrapper: { send() {}, sendImmediately() {}, reconnect() {} } } }))"""


def _html() -> str:
    parts = (HEAD.format("", 1), CALL.format("", ""), ASKS.format("", 0, 0, 0), PANES.format("", 1, ""))
    body = f"<details open>{parts[0]}</details>{''.join(parts[1:])}<ul id='group'>{ROW.format('', 3)}</ul>"
    script = 'import { start } from "/js/socket.js"; start(); document.title = "ready";'
    return (
        f'<!doctype html><body data-base="/"><div id="socket" data-pill="pill"><span id="pill"></span>{body}</div>'
        f'<script>window.htmx = {{ config: {{}}, process() {{}} }}</script><script type="module">{script}</script>'
    )


@pytest.fixture(scope="module")
def opened(chromium: Browser) -> Iterator[Page]:
    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        is_script = path.startswith("/js/")
        body = (Path(settings.BASE_DIR) / f"static{path}").read_text() if is_script else _html()
        route.fulfill(body=body, content_type="text/javascript" if is_script else "text/html")

    with chromium.new_context(base_url="http://pages.test") as context:
        context.route("**/*", answer)
        yield context.new_page()


@pytest.fixture
def page(opened: Page) -> Page:
    """What a page of a stream and Live have, with a connection."""
    opened.goto("/")
    opened.wait_for_function("document.title === 'ready'")
    opened.evaluate(SAY, [0, ""])
    return opened


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("#b0-head", HEAD.format(OOB, 2)),
        ("[data-raw]", CALL.format(" is-complete", OOB)),
        ("[data-copy-from]", CALL.format(" is-complete", OOB)),
        ("#b1-head a", CALL.format(" is-complete", OOB)),
        ("#h0 a", ASKS.format(OOB, 0, 0, 0)),
        ("#h0-allow", ASKS.format(OOB, 0, 0, 0)),
        (
            "#r-0-unfold summary",
            '<li id="r-0" hx-swap-oob="delete"></li><ul hx-swap-oob="afterbegin:#group">' + ROW.format("", 4) + "</ul>",
        ),
        ("#r-0 .row-link", ROW.format(OOB, 4)),
        (".not-run summary", PANES.format(OOB, 1, MORE)),
    ],
)
def test_the_focus_stays_where_it_is_though_all_around_it_is_new(page: Page, at: str, told: str) -> None:
    page.locator(at).focus()
    before = page.locator(at).element_handle()
    page.evaluate(SAY, [1, told])
    assert before is not None
    assert not before.evaluate("(element) => element.isConnected")
    assert page.locator(at).evaluate("(element) => element === document.activeElement")


def test_where_a_question_is_gone_the_list_is_focused_and_no_other_question(page: Page) -> None:
    page.locator("#h0-allow").focus()
    page.evaluate(SAY, [1, ASKS.format(OOB, 1, 1, 1)])
    assert page.evaluate("document.activeElement.id") == "hold-list"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "call"
    page.evaluate(SAY, [2, NO_ASKS.format(OOB)])
    assert page.evaluate("document.activeElement.id") == "hold-list"
