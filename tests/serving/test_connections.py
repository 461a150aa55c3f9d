"""Connections' timers, and how their writes are combined."""

import asyncio
import socket
import sys

import pytest

from streamviz.serving import connections
from streamviz.serving.connections import Brake, Connection, Timer
from tests.clock import Clock


class Socketless(Connection):
    """A connection whose socket accepts everything."""

    connected = 1

    def __init__(self) -> None:
        self.dataBuffer, self._tempDataBuffer = b"", []
        self.sent: list[bytes] = []

    def writeSomeData(self, data: bytes) -> int:  # noqa: N802 - Twisted's name
        self.sent.append(data)
        return len(data)


def test_what_is_written_together_goes_to_the_socket_in_one_piece() -> None:
    connection = Socketless()
    with connection.at_once():
        connection.writeSequence([b"head", b"\r\n"])
        connection.write(b"body")
        assert connection.sent == []
    connection.write(b"more")
    assert connection.sent == [b"head\r\nbody", b"more"]


def test_a_timer_is_due_once_and_only_as_it_was_last_set() -> None:
    async def due() -> list[str]:
        told: list[str] = []
        cancelled, moved = Timer(0.0, lambda: told.append("cancelled")), Timer(60.0, lambda: told.append("moved"))
        cancelled.cancel()
        over = asyncio.Event()
        moved.reset(0.0)
        Timer(0.001, over.set)
        await over.wait()
        return told

    assert asyncio.run(due()) == ["moved"]


def test_a_timer_that_is_put_off_is_not_due_before() -> None:
    async def due() -> list[list[str]]:
        clock, told = Clock(), list[str]()
        late = Timer(1.0, lambda: told.append("late"))
        late.reset(60.0)
        found = []
        for seconds in (30.0, 60.0):
            await clock.pass_on(seconds)
            found.append([*told])
        return found

    assert asyncio.run(due()) == [[], ["late"]]


@pytest.mark.skipif(sys.platform != "linux", reason="its option is Linux's")
def test_the_system_cuts_nobody_off_before_the_server_has_said_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        connection = Socketless()
        connection.socket, _ = listener.accept()
        with connection.socket:
            connection.notice_lost_peers(3)
            assert connection.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) > 3_000


class Bare(Connection):
    """A connection without Twisted's reactor."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock


async def test_a_client_that_takes_a_little_now_and_then_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(connections, "monotonic", asyncio.get_running_loop().time)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Bare(ours)
        waiting = asyncio.ensure_future(Brake(connection, starts_full=True).wait_for_room(60))
        await asyncio.sleep(0)
        for _ in range(3):
            await clock.pass_on(40)
            connection.writeSomeData(b"a little")
        assert not waiting.done()
        await clock.pass_on(60)
        assert await waiting is False
