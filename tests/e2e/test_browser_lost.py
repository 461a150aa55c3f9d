"""A page that has lost its server does not pretend that streams go on."""

from playwright.sync_api import Browser, expect

from tests.e2e.scripts import CONNECT, LOST, page_of_ours, say

HTML = """<!doctype html><body><div id="socket" data-pill="pill"><b id="held" data-since="-5000"></b></div>
<span id="pill"></span><script>window.htmx = { config: {}, process() {} }</script><script type="module">
import { start as startSocket } from "/js/socket.js"; import { start as startTimes } from "/js/times.js";
startSocket(); startTimes(); document.body.id = "ready";</script>"""


def test_what_runs_does_not_grow_older_until_there_is_a_server(chromium: Browser) -> None:
    with page_of_ours(chromium, HTML) as page:
        page.clock.install()
        page.goto("/")
        page.wait_for_selector("#ready")
        page.evaluate(CONNECT)
        say(page, 0, "")
        page.clock.run_for(2_000)
        page.evaluate(LOST)
        before = page.locator("#held").inner_text()
        page.clock.run_for(2_000)
        expect(page.locator("#pill")).to_have_text("disconnected, retrying")
        assert page.locator("#held").inner_text() == before
        say(page, 0, "")
        page.clock.run_for(1_000)
        assert page.locator("#held").inner_text() != before
