"""The Live page's rows in a browser: they stay under the mouse, and if there are very many, the first are shown."""

import json
import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from streamviz.live.wall_topic import MOST_ROWS
from tests.e2e.browsing import Call, Reader
from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Serving

pytestmark = pytest.mark.slow

# Longer than anything that a test does in the meantime.
LONG = "content?chunks=50000&pace=20"
SLOW = "content?chunks=50000&pace=1000"
RUNNING = "SELECT 1 FROM records_stream s JOIN records_session n ON n.id = session_id WHERE name = %s"


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    with serving() as server, Proxied(server) as found:
        yield found


@pytest.fixture(scope="module")
def alice(chromium: Browser, proxied: Proxied) -> Iterator[Reader]:
    """The administrator's browser."""
    with Reader(chromium, proxied.server.base_url) as reader:
        reader.sign_in(proxied.server.sign_in_link)
        yield reader


@pytest.fixture(autouse=True)
def hang_up(proxied: Proxied) -> Iterator[None]:
    """End each test's calls before the next test."""
    yield
    proxied.hang_up()


def calling(proxied: Proxied, session: str) -> socket.socket:
    """A client whose call runs until its socket is closed."""
    body = json.dumps({"model": f"sim/{SLOW}", "messages": MESSAGES, "stream": True}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {proxied.server.api_key}\r\n"
        f"x-session-id: {session}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    client = socket.create_connection(("127.0.0.1", proxied.server.port))
    client.sendall(head.encode() + body)
    return client


def test_rows_stay_under_the_mouse_until_it_is_still_or_leaves(proxied: Proxied, alice: Reader) -> None:
    page = alice.open("/")
    Call(proxied, LONG, "pointed-at")
    row = page.locator(".stream-row", has_text="pointed-at")
    row.hover()
    before = row.bounding_box()
    text = page.locator("[id$=-tail]").first
    seen: list[Any] = [text.inner_text()]

    def has_gone_on() -> bool:
        """Move the mouse; whether the row's text has kept growing since the other stream began."""
        page.mouse.move(300 + len(seen) % 9, (before or {})["y"] + 9)
        if proxied.query(RUNNING, "another"):
            seen.append(text.inner_text())
        return len(set(seen)) > 5

    Call(proxied, LONG, "another")
    until(has_gone_on)
    assert row.bounding_box() == before
    page.mouse.move(1, 1)
    expect(page.locator(".stream-row", has_text="another")).to_be_visible()
    assert row.bounding_box() != before
    assert alice.complaints == []


def test_of_very_many_streams_the_first_are_there_and_a_filter_finds_the_others(
    proxied: Proxied, alice: Reader
) -> None:
    names = [f"many-{uuid.uuid4().hex[:8]}" for _ in range(MOST_ROWS + 5)]
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(calling(proxied, name))
        page = alice.open("/")
        expect(page.locator("#count-running")).to_have_text(str(len(names)))  # those of the previous test are over
        expect(page.locator("#group-running > li")).to_have_count(MOST_ROWS)
        expect(page.locator("#more-running")).to_have_text("5 more; filter to find them")
        alice.open(f"/?q={names[0]}")
        expect(page.locator("#group-running > li")).to_have_count(1)
        expect(page.locator("#more-running")).to_be_hidden()
    alice.open("/")
    expect(page.locator("#more-running")).to_be_hidden()
    assert alice.complaints == []
