"""The process of the browsers' websockets, started and stopped as the server does it."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator

import psutil
import pytest
from django.conf import settings

from streamviz.live.feed import Feed
from streamviz.live.publisher import Publisher
from streamviz.live.wall import Wall
from streamviz.serving.screens import Screens
from tests.e2e.proxied import until

pytestmark = pytest.mark.integration

ASKED = (
    "GET /ws/live/ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nUpgrade: {upgrade}\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Key: {base64.b64encode(b'0123456789abcdef').decode()}\r\n\r\n"
)
SIGNED_OUT = (4401).to_bytes(2)


@pytest.fixture
async def screens() -> AsyncIterator[Screens]:
    feed = Feed()
    found = Screens(Publisher(feed, Wall(feed)))
    yield found
    await found.stop()
    assert processes() == []


def processes() -> list[psutil.Process]:
    """The running screens processes."""
    return [each for each in psutil.Process().children() if is_screens(each)]


def is_screens(process: psutil.Process) -> bool:
    try:
        return process.status() != "zombie" and "screens" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def hand_over(screens: Screens, upgrade: str = "websocket") -> socket.socket | None:
    """Connect, and hand the server's end over; returns the client's end, or None if it was not accepted."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
    client.setblocking(False)
    with served:
        if screens.hand_over(served.fileno(), ASKED.format(upgrade=upgrade).encode()):
            return client
    client.close()
    return None


async def answer(client: socket.socket) -> bytes:
    """Everything that the client gets until the other end closes the connection."""
    came = b""
    async with asyncio.timeout(60):
        with client:
            while data := await asyncio.get_running_loop().sock_recv(client, 4096):
                came += data
                if came.endswith(SIGNED_OUT):
                    return came
    return came


async def test_it_serves_what_it_is_handed(screens: Screens) -> None:
    for client in (hand_over(screens), hand_over(screens)):
        assert client is not None
        came = await answer(client)
        assert came.startswith(b"HTTP/1.1 101 ")
        assert came.endswith(SIGNED_OUT)  # strangers are let in, so that they can be told this
    assert len(processes()) == 1


async def test_what_no_websocket_may_have_is_refused_and_closed(screens: Screens) -> None:
    client = hand_over(screens, upgrade="websocket\r\nX: a\x0bb")
    assert client is not None
    came = await answer(client)
    assert came.startswith(b"HTTP/1.1 400 ")


@pytest.mark.slow
async def test_the_process_of_the_websockets_is_started_anew_where_it_ended(screens: Screens) -> None:
    client = hand_over(screens)
    assert client is not None
    assert (await answer(client)).endswith(SIGNED_OUT)
    [killed] = processes()
    killed.kill()
    async with asyncio.timeout(60):
        while not ((client := hand_over(screens)) and (await answer(client)).endswith(SIGNED_OUT)):
            await asyncio.sleep(0.05)  # like a browser that is cut off, or served by the server
    [again] = processes()
    assert again.pid != killed.pid


async def test_the_server_serves_them_itself_where_it_does_not_start(
    screens: Screens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "PYTHON", ("/bin/false",))
    first = hand_over(screens)
    assert first is None or await answer(first) == b""
    async with asyncio.timeout(60):
        while (client := hand_over(screens)) is not None:
            client.close()
            await asyncio.sleep(0.05)
    monkeypatch.undo()
    assert hand_over(screens) is None


async def test_it_ends_with_its_server_also_while_it_starts() -> None:
    feed = Feed()
    screens = Screens(Publisher(feed, Wall(feed)))
    client = hand_over(screens)
    assert client is not None
    [process] = until(processes)  # it has its arguments only a moment after its start
    await screens.stop()
    assert not process.is_running()
    assert await answer(client) == b""
