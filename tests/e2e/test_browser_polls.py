"""Elements that poll, on a page without a server."""

from playwright.sync_api import Browser

from tests.e2e.scripts import page_of_ours

PAGE = """<!doctype html><div id="notices"></div><p id="line" data-quiet></p><form id="form"></form>
<script type="module">import { start } from "/js/notices.js"; start(); document.title = "ready";</script>"""
# Whether htmx would send a request of this element.
SENDS = """([id, hidden]) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    const detail = { elt: document.getElementById(id) };
    return document.dispatchEvent(new CustomEvent("htmx:beforeRequest", { detail, cancelable: true }));
}"""


def test_a_hidden_tab_does_not_poll(chromium: Browser) -> None:
    with page_of_ours(chromium, PAGE) as page:
        page.goto("/")
        page.wait_for_function("document.title === 'ready'")
        sent = {(name, hidden): page.evaluate(SENDS, [name, hidden]) for name in ("line", "form") for hidden in (0, 1)}
        assert sent == {("line", 0): True, ("line", 1): False, ("form", 0): True, ("form", 1): True}
