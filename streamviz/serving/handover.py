"""Handing a client's connection to another process: its socket, and the request that came over it.

Each side holds one end of a pair of datagram sockets: a datagram is a request as it came, with its connection's
descriptor attached.
"""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Daphne)

import os
import socket
from collections.abc import Callable

from streamviz.asgi_types import Application
from streamviz.serving.connections import Connection
from streamviz.serving.server import Limits, Server

# More than the head of any request that the server takes.
_MOST_BYTES = 128 * 1024
# Many browsers may come back while the other process is still starting.
_BUFFER_BYTES = 1024 * 1024


def pair() -> tuple[socket.socket, socket.socket]:
    """The two ends, neither of which ever blocks."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for end in ends:
        end.setblocking(False)
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, buffer, _BUFFER_BYTES)
    return ends


def hand_over(end: socket.socket, descriptor: int, request: bytes) -> bool:
    """Give a connection to whoever has the other end; it stays open here. Return False if nobody takes it."""
    try:
        socket.send_fds(end, [request], [descriptor])
    except OSError:
        return False
    return True


class Adopter(Server):
    """Serves the connections that another process accepted."""

    def __init__(self, application: Application, end: socket.socket, limits: Limits) -> None:
        super().__init__(application, limits=limits)
        self._end = end

    def _open(self) -> Callable[[], object]:
        loop = reactor._asyncioEventloop
        loop.add_reader(self._end, self._adopt_all)
        return lambda: loop.remove_reader(self._end)

    def _adopt_all(self) -> None:
        while True:
            try:
                request, descriptors, _, _ = socket.recv_fds(self._end, _MOST_BYTES, 1)
            except BlockingIOError:
                return
            for descriptor in descriptors:
                self._adopt(descriptor, request)

    def _adopt(self, descriptor: int, request: bytes) -> None:
        os.set_blocking(descriptor, False)
        try:
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                family = connection.family
            transport = Connection._fromConnectedSocket(descriptor, family, self.http_factory, reactor)
        except OSError:
            return  # the client has left in the meantime
        finally:
            os.close(descriptor)
        before = transport.protocol
        before.dataReceived(request)
        if transport.protocol is before:  # It was refused, and this process serves only websockets.
            transport.loseConnection()
