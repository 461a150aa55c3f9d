"""Where a server takes its connections, in its last moment."""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Twisted's own)

import socket
from contextlib import ExitStack

from twisted.internet.protocol import Factory, Protocol

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
    listener.numberAccepts = 1  # as it is where clients come one by one
    with ExitStack() as clients:
        for _ in range(MANY):
            clients.enter_context(socket.create_connection(("127.0.0.1", listener.getHost().port)))
        _close(listener)
        assert len(taken) == MANY
        for each in taken:
            each.transport.abortConnection()
