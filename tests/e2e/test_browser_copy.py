"""Buttons that copy, also on a page that was not sent over https: browsers then have no `navigator.clipboard`."""

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.e2e.scripts import page_of_ours

HTML = """<!doctype html><link rel="stylesheet" href="/css/tokens.css"><link rel="stylesheet" href="/css/base.css">
<link rel="stylesheet" href="/css/parts.css"><p id="snippet" hidden>first\nsecond</p>
<button data-copy="a stream's id">Copy the id</button><button data-copy-from="snippet">Copy the snippet</button>
<textarea></textarea><p class="told" id="told" role="status"></p>
<script type="module">import { start } from "/js/buttons.js"; start(); document.body.id = "ready";</script>"""
# A corner of the window for the button, which is larger than the words need.
PLACES = ["left: 0; top: 0", "right: 0; top: 0", "left: 0; bottom: 0", "right: 0; bottom: 0"]


def is_in_window(element: Locator) -> bool:
    return bool(
        element.evaluate("""element => {
          const { left, top, right, bottom } = element.getBoundingClientRect();
          return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
        }""")
    )


@pytest.mark.parametrize(("button", "text"), [("the id", "a stream's id"), ("the snippet", "first\nsecond")])
def test_copying_works_without_https(chromium: Browser, button: str, text: str) -> None:
    with page_of_ours(chromium, HTML) as page:
        page.goto("/")
        page.wait_for_selector("#ready")
        assert not page.evaluate("isSecureContext")
        copy = page.get_by_role("button", name=f"Copy {button}")
        copy.click()
        expect(page.get_by_role("status")).to_have_text("Copied")
        expect(copy).to_be_focused()
        page.locator("textarea").press("Control+V")
        assert page.locator("textarea").input_value() == text


@pytest.mark.parametrize("place", PLACES)
def test_that_it_was_copied_is_said_within_the_window(chromium: Browser, place: str) -> None:
    with page_of_ours(chromium, HTML, viewport={"width": 300, "height": 200}) as page:
        page.goto("/")
        page.wait_for_selector("#ready")
        copy = page.get_by_role("button", name="Copy the id")
        copy.evaluate("(button, place) => { button.style.cssText = `position: fixed; ${place}`; }", place)
        copy.click()
        expect(page.get_by_role("status")).to_have_text("Copied")
        assert is_in_window(page.get_by_role("status"))


def test_that_a_browser_does_not_copy_is_said(chromium: Browser) -> None:
    with page_of_ours(chromium, HTML) as page:
        page.goto("/")
        page.wait_for_selector("#ready")
        page.evaluate("document.execCommand = () => false")
        page.get_by_role("button", name="Copy the id").click()
        expect(page.get_by_role("status")).to_have_text("Could not copy")


def test_words_about_what_was_copied_go_by_themselves_and_stay_after_the_last_click(chromium: Browser) -> None:
    with page_of_ours(chromium, HTML) as page:
        page.clock.install()
        page.goto("/")
        page.wait_for_selector("#ready")
        told, copy = page.get_by_role("status"), page.get_by_role("button", name="Copy the id")
        copy.click()
        expect(told).to_have_text("Copied")
        page.clock.run_for(2_000)
        copy.click()
        page.clock.run_for(2_000)
        expect(told).to_have_text("Copied")
        page.clock.run_for(2_000)
        expect(told).to_be_empty()
