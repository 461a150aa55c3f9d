"""Where a server takes its connections, in its last moment."""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Twisted's own)

import socket
import sys
from contextlib import ExitStack

import pytest
from twisted.internet.protocol import Factory, Protocol

from streamviz.serving.closing import connect_nobody_more
from streamviz.serving.connections import Port
from streamviz.serving.listening import _close
from tests.services import free_port

MANY = 5


def test_all_who_wait_when_a_server_stops_are_taken_however_few_came_before() -> None:
    taken: list[Protocol] = []

    class Counted(Protocol):
        def connectionMade(self) -> None:  # noqa: N802  Twisted's name
            taken.append(self)

    listener = Port(free_port(), Factory.forProtocol(Counted), MANY, "127.0.0.1", reactor)
    listener.silence_seconds = 60.0
    listener.startListening()
    port = listener.getHost().port
    listener.numberAccepts = 1  # as it is where clients come one by one
    with ExitStack() as clients:
        for _ in range(MANY):
            clients.enter_context(socket.create_connection(("127.0.0.1", port)))
        _close(listener)
        assert len(taken) == MANY
        with pytest.raises(ConnectionRefusedError):  # at once, rather than taken by the system and then cut off
            socket.create_connection(("127.0.0.1", port))
        for each in taken:
            each.transport.abortConnection()


@pytest.mark.skipif(sys.platform != "linux", reason="the system passes over nobody")
def test_before_it_is_closed_the_system_connects_nobody_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:
        listening.setblocking(False)
        before, after = stack.enter_context(socket.socket()), stack.enter_context(socket.socket())
        before.connect(listening.getsockname())
        connect_nobody_more(listening)
        after.setblocking(False)
        after.connect_ex(listening.getsockname())
        taken = stack.enter_context(listening.accept()[0])
        before.sendall(b"hello")  # who is connected is heard
        assert taken.recv(5) == b"hello"
        with pytest.raises(BlockingIOError):
            listening.accept()
