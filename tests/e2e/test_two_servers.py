"""Two servers with Redis between them: a switch or cancellation on one takes effect on the other."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browsing import Call, Reader, grown
from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.e2e.test_browser_live import LONG, new_session, stream_path, text_of
from tests.services import Program, Serving, free_port

pytestmark = pytest.mark.slow

BODY = {"model": "sim/dangerous?speed=inf", "messages": MESSAGES, "stream": True}
SLOW = {**BODY, "model": "sim/dangerous?pace=60"}


@pytest.fixture(scope="module")
def proxied(serving: Serving, redis_url: str) -> Iterator[Proxied]:
    with serving(REDIS_URL=redis_url) as server, Proxied(server) as found:
        yield found


@pytest.fixture(scope="module")
def other(proxied: Proxied) -> Iterator[str]:
    """The address of a second server of the same streamviz, on which the administrator has signed in."""
    server, port = proxied.server, free_port()
    base_url = f"http://127.0.0.1:{port}"
    program = Program([sys.executable, "manage.py", "serve"], server.environment | {"PORT": str(port)})
    try:
        program.wait_for("Listening on")
        server.sign_in_link = server.sign_in_link.replace(server.base_url, base_url)
        proxied.sign_in()
        yield base_url
    finally:
        program.process.terminate()
        program.wait()


def test_a_mode_switched_in_the_admin_acts_in_both_workers(proxied: Proxied, other: str) -> None:
    key = {"authorization": f"Bearer {proxied.server.api_key}"}
    with ThreadPoolExecutor(2) as threads, httpx.Client(base_url=other, headers=key, timeout=60) as second:

        def call(client: httpx.Client, body: object) -> bytes:
            return client.post("/v1/chat/completions", json=body, headers=key).content

        before = [threads.submit(call, client, SLOW) for client in (proxied.http, second)]
        until(lambda: len(proxied.open_upstream()) == 2)
        proxied.switch("shell-guard", "enforce")
        until(lambda: "on all 2 workers" in proxied.http.get("/policies/shell-guard/spread/").text)
        for client in (proxied.http, second):
            assert b"run_shell" not in call(client, BODY)
        assert [b"run_shell" in each.result() for each in before] == [True, True]
        proxied.switch("shell-guard", "off")


def test_the_streams_of_one_are_watched_and_cancelled_at_the_other(
    chromium: Browser, proxied: Proxied, other: str
) -> None:
    cookies: list[Any] = [{"name": name, "value": value, "url": other} for name, value in proxied.http.cookies.items()]
    with Reader(chromium, other) as alice:
        alice.context.add_cookies(cookies)
        alice.open("/")
        session = new_session()
        cancelled = Call(proxied, LONG, session)
        alice.page.get_by_role("link", name=session).click()
        grown(alice.page, "#peek #b0-text")
        alice.open(stream_path(proxied, session))
        grown(alice.page, "#b0-text")
        alice.page.get_by_text("Cancel stream").click()
        alice.page.get_by_role("button", name="Yes, cancel it").click()
        expect(alice.page.locator("#stream-state")).to_contain_text("halted")
        cancelled.join(120)
        assert "cancelled by an operator" in str(cancelled.error)

        second = new_session()
        call = Call(proxied, "content?chunks=300&pace=30&seed=8", second)
        alice.open(stream_path(proxied, second))
        grown(alice.page, "#b0-text")
        text = call.result().text
        expect(alice.page.locator("#pill")).to_have_text("finished")
        assert text_of(alice) == text
        assert alice.complaints == []
