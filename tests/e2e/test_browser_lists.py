"""The way back from a page to the list that led to it, and from one filter of it to another, without a server."""

from playwright.sync_api import Browser, Page

from tests.e2e.scripts import page_of_ours

PAGE = """<!doctype html><a href="/sessions/" data-list>Sessions</a> <a href="/sessions/1/">one</a>
<a href="/streams/2/">two</a>
<script type="module">import {{ start }} from "/js/{}"; start(); document.title = "ready";</script>"""

FILTER = """<!doctype html><input data-search aria-label="Search"><nav data-with-typed><a href="/errors/">all</a></nav>
<script type="module">import { start } from "/js/typed.js"; start(); document.title = "ready";</script>"""


def back(page: Page) -> str:
    """The filter in the page's link to the list."""
    page.wait_for_function("document.title === 'ready'")
    return str(page.get_by_role("link", name="Sessions").evaluate("link => link.search"))


def test_a_link_back_to_a_list_keeps_its_filter(chromium: Browser) -> None:
    with page_of_ours(chromium, PAGE.format("lists.js")) as page:
        page.goto("/sessions/1/")
        assert back(page) == ""
        page.goto("/sessions/?q=outcome%3Ahalted&range=7d")
        for name, path in (("one", "sessions/1"), ("two", "streams/2")):
            page.get_by_role("link", name=name).click()
            page.wait_for_url(f"**/{path}/")
            assert back(page) == "?q=outcome%3Ahalted&range=7d"
        page.goto("/sessions/")
        page.get_by_role("link", name="one").click()
        page.wait_for_url("**/sessions/1/")
        assert back(page) == ""


def test_a_link_that_was_followed_keeps_no_words_that_are_gone_from_the_search(chromium: Browser) -> None:
    with page_of_ours(chromium, FILTER) as page:
        page.goto("/sessions/")
        page.wait_for_function("document.title === 'ready'")
        search, link = page.get_by_label("Search"), page.get_by_role("link", name="all")
        search.fill("past")
        with page.context.expect_page() as opened:
            link.click(modifiers=["Control"])
        opened.value.wait_for_url("**/errors/?q=past")
        search.fill("")
        link.click()
        page.wait_for_url("**/errors/")
