"""Paper is white, whatever theme the screen has."""

import pytest
from playwright.sync_api import Browser, Page

from tests.services import ROOT

GROUND = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"


def colours(page: Page, theme: str) -> str:
    """A page's ground and ink."""
    css = "".join((ROOT / "static" / "css" / f"{name}.css").read_text() for name in ("tokens", "base"))
    page.set_content(f"<!doctype html><html{theme}><style>{css}</style><body>text")
    return str(page.evaluate(GROUND))


@pytest.mark.parametrize("theme", ["", ' data-theme="dark"'])
def test_a_dark_page_is_printed_as_a_light_one(chromium: Browser, theme: str) -> None:
    with chromium.new_context(color_scheme="dark") as context:
        page = context.new_page()
        light = colours(page, ' data-theme="light"')
        assert colours(page, theme) != light
        page.emulate_media(media="print", color_scheme="dark")
        assert colours(page, theme) == light
