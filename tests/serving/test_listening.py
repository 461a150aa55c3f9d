"""How a server takes connections: the last ones before it stops, and those of a shared port."""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Twisted's own)

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure

from streamviz.serving import closing
from streamviz.serving.closing import connect_nobody_more, hear
from streamviz.serving.connections import Port
from streamviz.serving.listening import SharedPort, _close
from streamviz.serving.sharing import Share, Shares
from tests.services import free_port

MANY = 5
NOBODY = 65534


def test_all_who_wait_when_a_server_stops_are_taken_however_few_came_before() -> None:
    taken: list[Protocol] = []

    class Counted(Protocol):
        def connectionMade(self) -> None:  # noqa: N802  Twisted's name
            taken.append(self)

    listener = Port(free_port(), Factory.forProtocol(Counted), MANY, "127.0.0.1", reactor)
    listener.silence_seconds = 60.0
    listener.startListening()
    port = listener.getHost().port
    listener.numberAccepts = 1  # as it is if clients come one by one
    with ExitStack() as clients:
        for _ in range(MANY):
            clients.enter_context(socket.create_connection(("127.0.0.1", port)))
        _close(listener)
        assert len(taken) == MANY
        with pytest.raises(ConnectionRefusedError):  # at once, rather than accepted by the system and then cut off
            socket.create_connection(("127.0.0.1", port))
        for each in taken:
            each.transport.abortConnection()


@pytest.fixture
def no_rights() -> Iterator[None]:
    """Run as an ordinary user, like a service: newer Linux versions let only root filter what a socket receives."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform != "linux", reason="the system passes over nobody")
@pytest.mark.usefixtures("no_rights")
@pytest.mark.parametrize(("host", "peer"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")])
def test_before_it_is_closed_the_system_connects_nobody_more(host: str, peer: str) -> None:
    with listening_at(host) as listening, ExitStack() as stack:
        listening.setblocking(False)
        family = socket.AF_INET6 if ":" in peer else socket.AF_INET
        before, after = stack.enter_context(socket.socket(family)), stack.enter_context(socket.socket(family))
        address = peer, listening.getsockname()[1]
        before.connect(address)
        connect_nobody_more(listening)
        after.setblocking(False)
        after.connect_ex(address)
        taken = stack.enter_context(listening.accept()[0])
        before.sendall(b"hello")  # established connections still receive data
        assert taken.recv(5) == b"hello"
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.skipif(sys.platform != "linux", reason="the system passes over nobody")
@pytest.mark.usefixtures("no_rights")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_who_was_about_to_connect_then_is_heard(host: str) -> None:
    with listening_at(host) as listening, ExitStack() as stack:
        # With this option the system establishes a connection only when data arrives.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 60)
        client = stack.enter_context(socket.create_connection(listening.getsockname()[:2], timeout=60))
        connect_nobody_more(listening)
        client.sendall(b"hel")
        taken = stack.enter_context(listening.accept()[0])
        hear(taken)
        taken.settimeout(60)
        assert taken.recv(3) == b"hel"
        client.sendall(b"lo")
        assert taken.recv(2) == b"lo"


def listening_at(host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, 0), family=family, dualstack_ipv6=host == "::")


@contextmanager
def sharing(listening: socket.socket, share: Share) -> Iterator[tuple[SharedPort, list[Protocol]]]:
    """One of the servers that share a port, and its connections, which it accepts when the test says so."""
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


@pytest.fixture
def counts() -> Iterator[int]:
    """The file in which servers count their connections."""
    with TemporaryFile() as file:
        yield file.fileno()


def test_a_server_with_more_connections_leaves_the_next_to_another_that_shares_its_port(counts: int) -> None:
    shares = Shares.make(counts, 3)
    one, two = Share(counts, 0), Share(counts, 1)
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
        second._take_what_is_left()  # the other server has not got to it
        assert len(of_second) == 2
    assert [shares.serves(number) for number in range(3)] == [True, True, False]


def test_a_server_that_has_ended_is_waited_for_by_none(counts: int) -> None:
    Shares.make(counts, 2)
    one, two = Share(counts, 0), Share(counts, 1)
    one.begin()
    two.begin()
    one.change(5)
    assert one.is_more_than_anothers()
    two.end()
    two.change(-1)
    assert not one.is_more_than_anothers()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_system_that_counts_no_hops_hears_everybody(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_IP_MINTTL", 9999)
    with listening_at(host) as listening, socket.create_connection(listening.getsockname()[:2], timeout=60) as client:
        connect_nobody_more(listening)
        with listening.accept()[0] as taken:
            hear(taken)
            client.sendall(b"hello")
            assert taken.recv(5) == b"hello"
