"""On a stream's page, what the reader is using stays, though older blocks are removed as new ones arrive."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.scripts import connect, say, scripted

CARD = (
    '<article class="block-card" id="b{0}" style="height: 60px"><p id="p{0}">text {0}</p>'
    '<a id="a{0}" href="#b{0}">link</a><pre class="block-raw" id="b{0}-text" hidden>raw</pre></article>'
)
THINKING = '<details class="block-card" id="b{0}"><summary>Thinking</summary>text</details>'
ITEM = '<li id="i{0}"><a href="#b{0}">block</a></li>'
HELD = (
    '<article class="block-card is-held" id="b{0}" style="height: 60px"><span class="card-gutter hatch"></span>'
    '<header class="card-head"><span class="verdict verdict-held"><span data-since="0">held</span></span></header>'
    '<a id="a{0}" href="#b{0}">link</a></article>'
)
COUNT = 40


@pytest.fixture(scope="module")
def opened(chromium: Browser) -> Iterator[Page]:
    items = "".join(map(ITEM.format, range(COUNT)))
    cards = "".join({3: THINKING, 4: HELD}.get(number, CARD).format(number) for number in range(COUNT))
    body = f'<ol style="position: fixed" id="block-list">{items}</ol><div id="block-cards">{cards}</div>'
    with scripted(chromium, body, viewport={"width": 800, "height": 300}) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    """A page that shows its newest blocks, connected."""
    connect(opened)
    opened.evaluate("scrollTo(0, 1e6)")
    return opened


def leave(page: Page, number: int, *ordinals: int) -> None:
    """Deliver a message that removes these blocks."""
    told = (f'<div id="{kind}{ordinal}" hx-swap-oob="delete"></div>' for ordinal in ordinals for kind in "ib")
    say(page, number, "".join(told))


def stay(page: Page, *ids: str) -> list[bool]:
    """Whether each of these is still there."""
    return [page.locator(f"#{id}").count() == 1 for id in ids]


def test_what_nobody_is_at_goes_at_once(page: Page) -> None:
    leave(page, 1, 0, 1, 3)
    assert stay(page, "b0", "b1", "b3", "i1", "b2", "i2") == [False] * 4 + [True] * 2


@pytest.mark.parametrize(
    ("be_at", "leave_it"),
    [
        ("document.getElementById('a1').focus({ preventScroll: true })", "document.activeElement.blur()"),
        ("getSelection().setBaseAndExtent(p1.firstChild, 1, p1.firstChild, 3)", "getSelection().removeAllRanges()"),
        ("document.getElementById('b1-text').hidden = false", "document.getElementById('b1-text').hidden = true"),
        ("document.getElementById('b1').scrollIntoView({ block: 'end' })", "scrollTo(0, 1e6)"),
    ],
    ids=["focused", "selected", "opened", "in sight"],
)
def test_what_somebody_is_at_goes_once_they_have_left_it(page: Page, be_at: str, leave_it: str) -> None:
    page.evaluate(be_at)
    leave(page, 1, 1, 20)
    assert stay(page, "b1", "i1", "b20") == [True, False, False]
    page.evaluate(leave_it)
    say(page, 2, "")
    assert stay(page, "b1") == [False]


def test_thinking_that_was_opened_stays(page: Page) -> None:
    page.evaluate("b3.open = true")
    leave(page, 1, 3)
    assert stay(page, "b3") == [True]


def test_what_stays_is_not_held_for_ever(page: Page) -> None:
    page.evaluate("a4.focus({ preventScroll: true })")
    assert "held" in page.inner_text("#b4")
    leave(page, 1, 4)
    assert page.inner_text("#b4").strip() == "link"
    assert page.locator(".is-held, .card-gutter").count() == 0


def test_what_a_snapshot_replaced_is_forgotten(page: Page) -> None:
    page.evaluate("window.card = document.getElementById('b30'); document.getElementById('b30-text').hidden = false")
    leave(page, 1, 30)
    say(page, 2, '<div id="block-cards" hx-swap-oob="true"></div>')
    assert stay(page, "b30") == [False]
    away = "card.style.position = 'absolute'; card.style.top = '-500px'"
    page.evaluate(f"card.querySelector('pre').hidden = true; {away}; document.body.append(card)")
    say(page, 3, "")
    assert stay(page, "b30") == [True], "nobody has it remove what is the page's no longer"
