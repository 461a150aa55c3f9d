"""The keyboard focus stays in place when the focused element is replaced."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.scripts import connect, say, scripted

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


def _body() -> str:
    parts = (HEAD.format("", 1), CALL.format("", ""), ASKS.format("", 0, 0, 0), PANES.format("", 1, ""))
    return f"<details open>{parts[0]}</details>{''.join(parts[1:])}<ul id='group'>{ROW.format('', 3)}</ul>"


@pytest.fixture(scope="module")
def opened(chromium: Browser) -> Iterator[Page]:
    with scripted(chromium, _body()) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    """The relevant elements of a stream's page and of Live, connected."""
    connect(opened)
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
    say(page, 1, told)
    assert before is not None
    assert not before.evaluate("(element) => element.isConnected")
    assert page.locator(at).evaluate("(element) => element === document.activeElement")


def test_where_a_question_is_gone_the_list_is_focused_and_no_other_question(page: Page) -> None:
    page.locator("#h0-allow").focus()
    say(page, 1, ASKS.format(OOB, 1, 1, 1))
    assert page.evaluate("document.activeElement.id") == "hold-list"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "call"
    say(page, 2, NO_ASKS.format(OOB))
    assert page.evaluate("document.activeElement.id") == "hold-list"
