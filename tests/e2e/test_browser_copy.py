"""Buttons that copy, on a page that was not sent over https: browsers then have no `navigator.clipboard`."""

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.scripts import page_of_ours

HTML = """<!doctype html><body><p id="snippet" hidden>first\nsecond</p>
<button data-copy="a stream's id">Copy the id</button><button data-copy-from="snippet">Copy the snippet</button>
<textarea></textarea>
<script type="module">import { start } from "/js/buttons.js"; start(); document.body.id = "ready";</script>"""


@pytest.mark.parametrize(("button", "text"), [("the id", "a stream's id"), ("the snippet", "first\nsecond")])
def test_copying_works_without_https(chromium: Browser, button: str, text: str) -> None:
    with page_of_ours(chromium, HTML) as page:
        page.goto("/")
        page.wait_for_selector("#ready")
        assert not page.evaluate("isSecureContext")
        copy = page.get_by_role("button", name=f"Copy {button}")
        copy.click()
        expect(copy).to_have_class("copied")
        expect(copy).to_be_focused()
        page.locator("textarea").press("Control+V")
        assert page.locator("textarea").input_value() == text
