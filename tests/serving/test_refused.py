"""What happens to a connection on which a request was refused before it was complete."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from streamviz.serving import gate
from streamviz.serving.kept import KeptByProxies


@dataclass
class Transport:
    """A connection, with or without data that the client has not taken yet."""

    has_unsent: bool
    taken_at: float = field(default_factory=monotonic)
    is_aborted: bool = False
    connected = True
    disconnecting = False
    protocol: Any = None

    def write(self, data: bytes) -> None:
        """Discard the data."""

    def loseWriteConnection(self) -> None:
        """Called once everything is written."""

    def abortConnection(self) -> None:
        self.is_aborted = True


class Later:
    """Twisted's reactor, with a clock that the test advances."""

    def __init__(self) -> None:
        self.due: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def callLater(self, seconds: float, call: Callable[..., object], *arguments: object) -> None:
        self.due.append((call, arguments))

    def pass_time(self) -> None:
        call, arguments = self.due.pop()
        call(*arguments)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    reactor = Later()
    monkeypatch.setattr(gate, "reactor", reactor)
    return reactor


def test_what_was_on_its_way_before_is_waited_for_while_the_client_takes_it(later: Later) -> None:
    transport = Transport(has_unsent=True)
    gate.end_with(SimpleNamespace(transport=transport), b"HTTP/1.1 400 Bad Request\r\n\r\n")
    later.pass_time()
    assert not transport.is_aborted
    transport.taken_at -= gate.LINGER_SECONDS
    later.pass_time()
    assert transport.is_aborted
    assert later.due == []


def test_a_client_that_has_the_answer_is_not_waited_for(later: Later) -> None:
    transport = Transport(has_unsent=False)
    gate.end_with(SimpleNamespace(transport=transport), b"HTTP/1.1 400 Bad Request\r\n\r\n")
    later.pass_time()
    assert transport.is_aborted


def test_a_proxys_connection_brings_no_request_once_one_was_refused(later: Later) -> None:
    class Protocol:
        _channel = SimpleNamespace(transport=Transport(has_unsent=False), requests=[])

    protocol = Protocol()
    protocol._channel.transport.protocol = protocol
    kept = KeptByProxies(["10.0.0.0/8"])
    kept._protocols.add(protocol)
    assert kept.may_bring_requests()
    gate.end_with(protocol._channel, b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert not kept.may_bring_requests()
