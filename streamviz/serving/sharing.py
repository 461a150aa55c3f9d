"""A server that shares its port with others: all of them wait at one listening socket."""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Daphne)

import logging
import socket
from collections.abc import Callable

from streamviz.asgi_types import Application
from streamviz.serving.server import BACKLOG, Drain, HandOver, Limits, Port, Server

logger = logging.getLogger(__name__)


class SharedPort(Port):
    """Takes one connection at a time, so that whichever server has time for it takes the next."""

    def doRead(self) -> None:
        """Called by Twisted where somebody connects."""
        self.numberAccepts = 1
        super().doRead()

    def close(self) -> None:
        """Take whoever waits, as the other servers may stop too, and then nobody more."""
        self.numberAccepts = BACKLOG
        super().doRead()
        self.stopListening()


class Sharing(Server):
    """Serves those who connect to a socket that listens already, which goes on listening when this server stops."""

    def __init__(
        self, application: Application, listening: socket.socket, drain: Drain, hand_over: HandOver, limits: Limits
    ) -> None:
        super().__init__(application, drain, hand_over, limits)
        self._listening = listening

    def _open(self) -> Callable[[], object]:
        with self._listening:  # Twisted has a descriptor of its own
            fd, family = self._listening.fileno(), self._listening.family
            listener = SharedPort._fromListeningDescriptor(reactor, fd, family, self.http_factory)
        listener.silence_seconds = self.limits.silence_seconds
        listener.startListening()
        logger.info("Listening on port %s with others", listener.getHost().port)
        return listener.close
