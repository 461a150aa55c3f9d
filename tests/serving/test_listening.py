"""Where a server takes its connections, in its last moment."""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Twisted's own)

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure

from streamviz.serving.closing import connect_nobody_more
from streamviz.serving.connections import Port
from streamviz.serving.listening import SharedPort, _close
from streamviz.serving.sharing import Share, Shares
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


@contextmanager
def sharing(listening: socket.socket, share: Share) -> Iterator[tuple[SharedPort, list[Protocol]]]:
    """One of the servers that share a port, and whom it has taken; they are asked to take by hand."""
    taken: list[Protocol] = []

    class Counted(Protocol):
        def connectionMade(self) -> None:  # noqa: N802  Twisted's name
            taken.append(self)

    factory = Factory.forProtocol(Counted)
    port = SharedPort._fromListeningDescriptor(reactor, listening.fileno(), listening.family, factory)
    port.silence_seconds, port.share = 60.0, share
    port.startListening()
    share.begin()
    try:
        yield port, taken
    finally:
        _close(port)
        for each in taken:
            each.transport.abortConnection()


def test_a_server_with_more_connections_leaves_the_next_to_another_that_shares_its_port(tmp_path: Path) -> None:
    shares = Shares.make(tmp_path / "shares", 3)
    one, two = Share(tmp_path / "shares", 0), Share(tmp_path / "shares", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:
        listening.setblocking(False)
        first, of_first = stack.enter_context(sharing(listening, one))
        second, of_second = stack.enter_context(sharing(listening, two))
        for _ in range(3):
            stack.enter_context(socket.create_connection(listening.getsockname()))
        first.doRead()
        first.doRead()
        assert (len(of_first), len(of_second)) == (1, 0)
        second.doRead()
        first.doRead()
        assert (len(of_first), len(of_second)) == (2, 1)
        for each in of_first:
            each.transport.connectionLost(Failure(ConnectionDone()))
        stack.enter_context(socket.create_connection(listening.getsockname()))
        second.doRead()
        assert len(of_second) == 1
        second._take_what_is_left()  # the other has not come to it
        assert len(of_second) == 2
    assert [shares.serves(number) for number in range(3)] == [True, True, False]


def test_a_server_that_has_ended_is_waited_for_by_none(tmp_path: Path) -> None:
    Shares.make(tmp_path / "shares", 2)
    one, two = Share(tmp_path / "shares", 0), Share(tmp_path / "shares", 1)
    one.begin()
    two.begin()
    one.change(5)
    assert one.is_more_than_anothers()
    two.end()
    two.change(-1)
    assert not one.is_more_than_anothers()
