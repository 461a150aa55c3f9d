"""Browsers' websockets: what comes in is limited, and a handshake that is not ours is not logged as a fault."""

import streamviz.serving.event_loop  # noqa: F401  isort: skip  (before Daphne)

from time import monotonic
from typing import Any

from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol

# Our pages send some 40 bytes, five times a second at most.
MESSAGE_BYTES = 4096
_BYTES_AT_ONCE = 16 * 1024
_BYTES_A_SECOND = 2048


class Websocket(WebSocketProtocol):
    """One websocket. A client that sends more than any page of ours is cut off before that is read: each frame is work,
    however short it is."""

    wasClean: bool  # noqa: N815  Autobahn's name
    _is_asked = False
    _left = _BYTES_AT_ONCE
    _counted_at = 0.0

    def dataReceived(self, data: bytes) -> None:
        """Called by Daphne with the request, and by Twisted with everything that comes after it."""
        if not self._is_asked:
            self._is_asked = True
        elif self.state == self.STATE_CONNECTING or not self._may_say(len(data)):
            self.transport.abortConnection()
            return
        super().dataReceived(data)

    def _may_say(self, size: int) -> bool:
        now = monotonic()
        gained = int((now - self._counted_at) * _BYTES_A_SECOND)
        self._left = min(self._left + gained, _BYTES_AT_ONCE) - size
        self._counted_at = now
        return self._left >= 0

    def failHandshake(self, reason: str, code: int = 400, responseHeaders: Any = None) -> None:
        """Called by Autobahn. The client is told why, and whoever refused it has logged it if it matters."""
        self.sendHttpErrorResponse(code, reason, responseHeaders)
        self.dropConnection(abort=False)

    def dropConnection(self, abort: bool = False) -> None:
        """Called by Autobahn, which would warn about each. Browsers go without a word whenever a laptop is closed, and
        strangers can do so as often as they like."""
        was_clean, self.wasClean = self.wasClean, True
        super().dropConnection(abort)
        self.wasClean = was_clean

    def onMessageFrameBegin(self, length: int) -> None:
        """Called by Autobahn for each frame of a message."""
        super().onMessageFrameBegin(length)
        if self.message_data_total_length > MESSAGE_BYTES:
            self.transport.abortConnection()

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        """Called by Autobahn, even if its own check of the request refused it before Daphne knew of it."""
        if self in self.factory.server_class.connections:
            super().onClose(wasClean, code, reason)


class Factory(WebSocketFactory):
    """Makes websockets."""

    protocol = Websocket


def factory_for(server: Any, name: str, close_seconds: float) -> Factory:
    """A server's factory; browsers get `close_seconds` to confirm that their websocket is closed."""
    factory = Factory(server, server=name)
    factory.setProtocolOptions(
        autoPingTimeout=server.ping_timeout,
        allowNullOrigin=False,
        closeHandshakeTimeout=close_seconds,
        openHandshakeTimeout=server.websocket_handshake_timeout,
        # A limit here would also apply to what Autobahn sends.
        maxMessagePayloadSize=0,
        maxFramePayloadSize=0,
    )
    return factory
