"""Where a server accepts its connections: at an address of its own, or at a socket shared with other servers."""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Daphne)

import logging
import socket
from collections.abc import Callable
from functools import partial

from twisted.internet.error import CannotListenError, ConnectionDone
from twisted.python.failure import Failure

from streamviz.asgi_types import Application
from streamviz.faults import cannot_listen
from streamviz.serving.closing import connect_nobody_more
from streamviz.serving.connections import Connection, Port
from streamviz.serving.server import BACKLOG, Drain, HandOver, Limits, Server
from streamviz.serving.sharing import Share

logger = logging.getLogger(__name__)

# An idle server accepts a connection within a millisecond.
GIVE_WAY_SECONDS = 0.005


class Listening(Server):
    """Serves whoever connects to one address."""

    def __init__(
        self,
        application: Application,
        host: str,
        port: int,
        drain: Drain | None = None,
        hand_over: HandOver | None = None,
        limits: Limits = Limits(),  # noqa: B008 - it never changes
    ) -> None:
        super().__init__(application, drain, hand_over, limits)
        self.host, self.port = host, port

    def _open(self) -> Callable[[], object]:
        listener = Port(self.port, self.http_factory, BACKLOG, self.host, reactor)
        listener.silence_seconds = self.limits.silence_seconds
        try:
            listener.startListening()
        except CannotListenError as error:
            raise cannot_listen(error.socketError, self.host, self.port) from None
        logger.info("Listening on %s:%s", self.host, listener.getHost().port)
        return partial(_close_alone, listener)


def _close_alone(listener: Port) -> None:
    """Close a listener at whose socket nobody else waits."""
    connect_nobody_more(listener.socket)
    _close(listener)


def _close(listener: Port) -> None:
    """Accept all that are already waiting, as far as the system can tell, and then nobody more. Twisted by itself
    accepts about as many as the last time, and the rest would be cut off."""
    listener.stopReading()
    listener.numberAccepts = BACKLOG
    Port.doRead(listener)
    listener.connectionLost(Failure(ConnectionDone()))  # now: Twisted would close it in its loop's next round


class SharedPort(Port):
    """Accepts one connection at a time, so that whichever server has time for it takes the next. A server that has more
    connections than another leaves the next to that one for a moment: streams last, and by chance alone one server has
    twice as many as another."""

    share: Share

    def took(self, connection: Connection) -> None:
        """Called by the connection."""
        super().took(connection)
        self.share.change(1)

    def lost(self) -> None:
        """Called by the connection."""
        self.share.change(-1)

    def doRead(self) -> None:
        """Called by Twisted when somebody connects."""
        if self.share.is_more_than_anothers():
            self.stopReading()
            reactor.callLater(GIVE_WAY_SECONDS, self._take_what_is_left)
        else:
            self._take()

    def _take_what_is_left(self) -> None:
        if self.connected:
            self._take()
            self.startReading()

    def _take(self) -> None:
        self.numberAccepts = 1
        super().doRead()


class Sharing(Server):
    """Serves those who connect to a socket that is already listening, and goes on listening when this server stops."""

    def __init__(
        self,
        application: Application,
        listening: socket.socket,
        share: Share,
        drain: Drain,
        hand_over: HandOver,
        limits: Limits,
    ) -> None:
        super().__init__(application, drain, hand_over, limits)
        self._listening = listening
        self._share = share

    def _open(self) -> Callable[[], object]:
        with self._listening:  # Twisted has a descriptor of its own
            fd, family = self._listening.fileno(), self._listening.family
            listener = SharedPort._fromListeningDescriptor(reactor, fd, family, self.http_factory)
        listener.silence_seconds = self.limits.silence_seconds
        listener.share = self._share
        listener.startListening()
        self._share.begin()
        logger.info("Listening on port %s with others", listener.getHost().port)
        return partial(self._close, listener)

    def _close(self, listener: SharedPort) -> None:
        _close(listener)  # the other servers may stop too
        self._share.end()
