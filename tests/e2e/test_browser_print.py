"""Pages are printed on white, whatever theme the screen has."""

import pytest
from playwright.sync_api import Browser, Page

from tests.services import ROOT

GROUND = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"


def css(*names: str) -> str:
    return "".join((ROOT / "static" / "css" / f"{name}.css").read_text() for name in names)


def colours(page: Page, theme: str) -> str:
    """A page's background and text colours."""
    page.set_content(f"<!doctype html><html{theme}><style>{css('tokens', 'base')}</style><body>text")
    return str(page.evaluate(GROUND))


@pytest.mark.parametrize("theme", ["", ' data-theme="dark"'])
def test_a_dark_page_is_printed_as_a_light_one(chromium: Browser, theme: str) -> None:
    with chromium.new_context(color_scheme="dark") as context:
        page = context.new_page()
        light = colours(page, ' data-theme="light"')
        assert colours(page, theme) != light
        page.emulate_media(media="print", color_scheme="dark")
        assert colours(page, theme) == light


def test_what_happened_in_a_session_keeps_off_the_edge_of_the_sheet(chromium: Browser) -> None:
    story = f'<dl class="story"><div><dt>Last</dt><dd><q>{"words " * 200}</q></dd></div></dl>'
    actions = '<div class="session-actions"><button class="button">Export</button></div>'
    styles = f"<style>{css('tokens', 'base', 'parts', 'stream', 'conversation')}</style>"
    with chromium.new_context(viewport={"width": 800, "height": 600}) as context:
        page = context.new_page()
        page.emulate_media(media="print")
        page.set_content(f'<!doctype html>{styles}<div class="session-head">{story}{actions}</div>')
        place = page.locator(".story dd").bounding_box()
        assert place is not None
        assert place["x"] + place["width"] <= 800 - 16


def test_what_was_chosen_is_printed_and_what_could_be_is_not(chromium: Browser) -> None:
    """Figures on paper would mean nothing without their time."""
    choice = '<nav class="segments"><a>1 h</a><a aria-current="true">24 h</a></nav>'
    bar = f'<header class="topbar"><div class="topbar-end"><a class="button">Views</a>{choice}</div></header>'
    with chromium.new_context() as context:
        page = context.new_page()
        page.emulate_media(media="print")
        page.set_content(f"<!doctype html><style>{css('tokens', 'base', 'parts')}</style>{bar}")
        assert page.locator(".topbar-end a:visible").all_inner_texts() == ["24 h"]


def test_facts_are_printed_whole(chromium: Browser) -> None:
    """On paper, nothing shows the rest of them."""
    fact = "<div><dt>HTTP</dt><dd><bdi>01 Dec 03:56:51</bdi> <small><bdi>/v1/chat/completions</bdi></small></dd></div>"
    html = (
        f"<style>{css('tokens', 'base', 'parts')}</style><main class='main'><dl class='facts'>{14 * fact}</dl></main>"
    )
    with chromium.new_context(viewport={"width": 760, "height": 600}) as context:
        page = context.new_page()
        page.emulate_media(media="print")
        page.set_content(f"<!doctype html>{html}")
        cut = "[...document.querySelectorAll('dd, small')].filter((each) => each.scrollWidth > each.clientWidth).length"
        assert page.evaluate(cut) == 0


def test_no_chart_is_torn_between_two_sheets(chromium: Browser) -> None:
    """Three charts fit two sheets only if one of them is torn."""
    chart = '<section class="chart"><h2>Streams</h2><div style="height: 400px"></div></section>'
    charts = f'<div class="charts" style="grid-template-columns: 100%">{3 * chart}</div>'
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(f"<!doctype html><style>{css('tokens', 'base', 'parts', 'charts', 'stats')}</style>{charts}")
        assert page.pdf(width="600px", height="750px").count(b"/Type /Page\n") == 3
