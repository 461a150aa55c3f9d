"""A page's own scripts and styles without a server: tests provide the page and the websocket's messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from playwright.sync_api import Browser, Page, Route

_SAY = """([number, html]) => document.getElementById("socket").dispatchEvent(new CustomEvent("htmx:wsBeforeMessage", {
    bubbles: true, cancelable: true, detail: { message: `${number} ${number ? "delta" : "snapshot"} 1 0\\n${html}`,
    socketWrapper: { send() {}, sendImmediately() {}, reconnect() {} } } }))"""
_PAGE = """<!doctype html><body data-base="/"><div id="socket" data-pill="pill"><span id="pill"></span>{}</div>
    <script>window.htmx = {{ config: {{}}, process() {{}} }}</script>
    <script type="module">import {{ start }} from "/js/socket.js"; start(); document.title = "ready";</script>"""

# Simulate that the connection opens, and that it is lost.
CONNECT = """window.WebSocket = class { close() {} }; window.socket = htmx.createWebSocket("/ws/");
document.getElementById("socket").dispatchEvent(new CustomEvent("htmx:wsConnecting", { bubbles: true }))"""
LOST = """document.getElementById("socket").dispatchEvent(new CustomEvent("htmx:wsClose", { bubbles: true,
    detail: { event: { code: 1006, target: window.socket }, socketWrapper: { reconnect() {} } } }))"""


@contextmanager
def page_of_ours(chromium: Browser, html: str, **options: Any) -> Iterator[Page]:
    """A page with this markup, in a browser profile with these options, that finds our scripts below /js/, our styles
    below /css/, and no server."""

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path.startswith(("/js/", "/css/")):
            route.fulfill(path=Path(settings.BASE_DIR) / f"static{path}")
        else:
            route.fulfill(body=html, content_type="text/html")

    with chromium.new_context(base_url="http://pages.test", **options) as context:
        context.route("**/*", answer)
        yield context.new_page()


@contextmanager
def scripted(chromium: Browser, body: str, **options: Any) -> Iterator[Page]:
    """A page for `connect`, with `body` inside its socket's element."""
    with page_of_ours(chromium, _PAGE.format(body), **options) as page:
        yield page


def connect(page: Page) -> None:
    """Load the page in its initial state, connected."""
    page.goto("/")
    page.wait_for_function("document.title === 'ready'")
    say(page, 0, "")


def say(page: Page, number: int, html: str) -> None:
    """Deliver a websocket message with this number."""
    page.evaluate(_SAY, [number, html])
