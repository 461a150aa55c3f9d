"""Clients' connections: writing to their sockets, and waiting for room in them."""

import streamviz.serving.event_loop  # noqa: F401  isort: skip  (before Twisted's own)

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any

from twisted.internet import tcp
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from streamviz.serving.closing import hear

# How much unsent data the system may hold: by default it takes some MB for a client that takes nothing. Data in flight
# is not limited, so no client is slower for this.
UNSENT_BYTES = 128 * 1024
# How much is read of a client in one turn of the event loop: of a body whose length is known, and of anything else. A
# body in chunks may have one for each byte, and 64 KiB of these would hold up everybody else for 60 ms.
_MUCH_BYTES = 64 * 1024
_LITTLE_BYTES = 4 * 1024
# However busy the server is, it cuts off a client that takes nothing before the system does, which gives no reason.
_LATER_SECONDS = 60


class Connection(tcp.Server):
    """A client's connection. What is written goes to the socket at once, as far as it takes it; the reactor sends the
    rest."""

    bufferSize = _LITTLE_BYTES  # noqa: N815 - Twisted's name
    taken_at = 0.0  # when the socket last took something (s)
    _together: list[bytes] | None = None
    _host: Any = None

    def __init__(
        self, sock: socket.socket, protocol: Any, client: Any, server: Any, sessionno: Any, reactor: Any
    ) -> None:
        """Called by Twisted for each connection that a port accepts, and for one that another process accepted."""
        super().__init__(sock, protocol, client, server, sessionno, reactor)
        self._port = server if isinstance(server, Port) else None
        if self._port is not None:
            self._port.took(self)

    def connectionLost(self, reason: Any) -> None:
        """Called by Twisted, perhaps twice."""
        super().connectionLost(reason)
        port, self._port = self._port, None
        if port is not None:
            port.lost()

    def doRead(self) -> Any:
        """Called by Twisted. uvloop signals a reset that came with data only once: Twisted would read the data and miss
        the reset."""
        lost = super().doRead()
        if lost is None and self.connected and self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return ConnectionLost()
        return lost

    def expect(self, bytes: int) -> None:
        """So much of a body of known length is still to come: it may be read in larger pieces, but not what follows."""
        self.bufferSize = max(_LITTLE_BYTES, min(bytes, _MUCH_BYTES))

    def getHost(self) -> Any:
        """Called by Twisted for each request; it stays the same."""
        if self._host is None:
            self._host = super().getHost()
        return self._host

    def writeSomeData(self, data: bytes) -> int | ConnectionLost:
        """Called by Twisted, and here."""
        taken: int | ConnectionLost = super().writeSomeData(data)
        if isinstance(taken, int) and taken:
            self.taken_at = monotonic()
        return taken

    def write(self, data: bytes) -> None:
        """Called by Twisted's protocols. The reactor sends later what cannot be sent now, and notices if the client has
        left."""
        if self._together is not None:
            self._together.append(data)
            return
        if data and self.connected and not self.has_unsent:
            sent = self.writeSomeData(data)
            if isinstance(sent, int):
                data = data[sent:]
        if data:
            super().write(data)

    def writeSequence(self, iovec: Iterable[bytes]) -> None:
        """Called by Twisted's protocols."""
        self.write(b"".join(iovec))

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Send what is written within the context to the socket in one piece."""
        pieces: list[bytes] = []
        self._together = pieces
        try:
            yield
        finally:
            self._together = None
            self.writeSequence(pieces)

    @property
    def has_unsent(self) -> bool:
        """Whether there is something that the client's socket has not taken yet."""
        return bool(self.dataBuffer or self._tempDataBuffer or self._together)

    def notice_lost_peers(self, seconds: float) -> None:
        """Have the system end the connection if the other side is gone without a word, whether idle or being sent to. A
        client that takes nothing for so many seconds is cut off by the server first, which says why."""
        self.setTcpKeepAlive(True)
        chosen = {
            "TCP_KEEPIDLE": seconds / 2,
            "TCP_KEEPINTVL": seconds / 8,
            "TCP_USER_TIMEOUT": (seconds + _LATER_SECONDS) * 1000,
        }
        for name, value in chosen.items():
            if option := getattr(socket, name, None):  # not every system has them
                self.socket.setsockopt(socket.IPPROTO_TCP, option, max(1, int(value)))

    def hold_little(self) -> None:
        """Have the system hold no more for a client than the client will soon get."""
        if option := getattr(socket, "TCP_NOTSENT_LOWAT", None):  # not every system has it
            self.socket.setsockopt(socket.IPPROTO_TCP, option, UNSENT_BYTES)

    def detach(self) -> None:
        """Close it only here: it continues in another process."""
        self._shouldShutdown = False
        self.loseConnection()


class Timer:
    """A call that is due in so many seconds, unless it is reset or cancelled: the interface that Twisted's protocols
    need, without the reactor, whose own timers take ten times as long, twice a request."""

    def __init__(self, seconds: float, call: Callable[[], object]) -> None:
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + seconds
        self._handle = self._loop.call_at(self._due, self._ring)

    def reset(self, seconds: float) -> None:
        """Make the call due so long from now. If that is later than before, the timer still fires at the old time, and
        then waits for the rest."""
        due = self._loop.time() + seconds
        if due < self._due:
            self._handle.cancel()
            self._handle = self._loop.call_at(due, self._ring)
        self._due = due

    def cancel(self) -> None:
        """Cancel the call."""
        self._handle.cancel()

    def _ring(self) -> None:
        if self._loop.time() < self._due:
            self._handle = self._loop.call_at(self._due, self._ring)
        else:
            self._call()


class Port(tcp.Port):
    """A port that makes connections of our class."""

    transport = Connection
    silence_seconds = 0.0

    def took(self, connection: Connection) -> None:
        """Called by each connection that it accepts."""
        hear(connection.socket)
        connection.notice_lost_peers(self.silence_seconds)
        connection.hold_little()

    def lost(self) -> None:
        """Called by each of them once it is closed."""


@implementer(IPushProducer)
class Brake:
    """Twisted tells it when the client's socket is full; senders wait here until there is room."""

    def __init__(self, transport: Any, starts_full: bool = False) -> None:
        self._transport = transport
        self._has_room = asyncio.Event()
        if not starts_full:
            self._has_room.set()

    def pauseProducing(self) -> None:
        """Called by Twisted: the socket's buffer is full."""
        self._has_room.clear()

    def resumeProducing(self) -> None:
        """Called by Twisted: the buffer is empty. A connection that is being closed closes once its producer is
        gone."""
        self._has_room.set()
        if getattr(self._transport, "disconnecting", False):
            self._transport.unregisterProducer()

    def stopProducing(self) -> None:
        """Called by Twisted, and by the server: the client has left."""
        self._has_room.set()

    @property
    def is_full(self) -> bool:
        """Whether the client has to catch up before more is sent."""
        return not self._has_room.is_set()

    async def wait_for_room(self, seconds: float) -> bool:
        """Return once the client has caught up or left; False if it has taken nothing at all for this long."""
        since = monotonic()
        while self.is_full:
            left = max(since, self._transport.taken_at) + seconds - monotonic()
            if left <= 0:
                return False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._has_room.wait()
        return True
