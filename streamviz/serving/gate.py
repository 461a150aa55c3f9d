"""Refuses requests before their bodies are read, each of which would go to a file of its own however long it is, and
requests that are not HTTP, or whose head is too long."""

import io
import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, Protocol

from daphne.http_protocol import WebRequest

from streamviz.serving.event_loop import reactor

logger = logging.getLogger(__name__)

# How a connection begins if its client speaks TLS (RFC 8446, section 5.1); HTTP never begins like this.
TLS_HANDSHAKE = b"\x16"
NO_ROOM = "the request cannot be kept"
NO_TLS = "This port takes http://, not https://."
# A body this short is no longer than a head may be (Twisted's limit), so nothing is gained by refusing it unread: the
# application does that.
SHORT_BODY = 16 * 1024
# How long a refused client gets to read why, while anything that it still sends is discarded.
LINGER_SECONDS = 5.0

Headers = Sequence[tuple[bytes, bytes]]
# Takes the length of a body, as far as it is known, and returns the response that refuses it, or None.
Passage = Callable[[int], bytes | None]


class Malformed(Protocol):
    """Takes a request's target, as far as it was read, and 400, 414, 431 or 503; returns the response."""

    def __call__(self, target: bytes, status: int, why: str = "", headers: Headers = ...) -> bytes: ...


# Takes the target and the headers of a request for a websocket, and returns the response that refuses it, or None.
NoWebsocket = Callable[[bytes, Headers], bytes | None]
# Called once for a request whose body is long, or of unknown length, with the path, the headers (their names in lower
# case) and the client's address.
Gate = Callable[[bytes, Headers, str], Passage]


def refuse_malformed(channel: Any, malformed: Malformed) -> None:
    """Refuse a connection's bad requests with an explanation: Twisted has none, and if a line or the headers are too
    long, it closes the connection."""

    def refuse(line: bytes = b"") -> None:
        path = getattr(channel, "_path", None) or b""
        has_too_many = channel._receivedHeaderCount > channel.maxHeaders
        if line and channel._receivedHeaderSize == 0:
            end_with(channel, malformed(line.split(b" ", 2)[1] if b" " in line else b"", 414))
        elif line or has_too_many or channel._receivedHeaderSize > channel.totalHeadersSize:
            end_with(channel, malformed(path, 431))
        else:
            end_with(channel, malformed(path, 400))

    channel.lineLengthExceeded = refuse
    channel._respondToBadRequestAndDisconnect = refuse
    channel._maybeChooseTransferDecoder = partial(_choose_decoder, channel, channel._maybeChooseTransferDecoder)
    channel.dataReceived = partial(_begin, channel, malformed)


def _choose_decoder(channel: Any, choose: Callable[[bytes, bytes], bool], name: bytes, value: bytes) -> bool:
    """Called with each header; False refuses the request. Twisted accepts a length of any number of digits, but Python
    converts at most 4,300."""
    try:
        return choose(name, value)
    except ValueError:
        return bool(channel._failChooseTransferDecoder())


def _begin(channel: Any, malformed: Malformed, data: bytes) -> None:
    """Called with the first bytes of a connection. A client that speaks TLS would otherwise wait for its answer as long
    as it can, since its bytes contain no line end. Our answer tells it what is wrong: `wrong version number`."""
    del channel.dataReceived  # what comes next is for the class's own method
    if data.startswith(TLS_HANDSHAKE):
        logger.info("%s was refused, as it speaks TLS: this port takes http://", channel.transport.getPeer().host)
        end_with(channel, malformed(b"", 400, NO_TLS))
    else:
        channel.dataReceived(data)


def end_with(channel: Any, answer: bytes) -> None:
    """Send this answer, and read nothing more: what has come already may be wrong in more ways. If the connection
    closed at once, the client's system would discard the answer because of the unread data."""
    channel.is_refused = True
    channel.dataReceived = channel.lineReceived = channel.rawDataReceived = _throw_away
    channel.lineLengthExceeded = channel._respondToBadRequestAndDisconnect = _throw_away
    channel.transport.write(answer)
    channel.transport.loseWriteConnection()
    reactor.callLater(LINGER_SECONDS, _close, channel.transport)


def _close(transport: Any) -> None:
    """Close the connection, unless the client is still taking what was sent before."""
    if transport.has_unsent and monotonic() - transport.taken_at < LINGER_SECONDS:
        reactor.callLater(LINGER_SECONDS, _close, transport)
    else:
        transport.abortConnection()


def _throw_away(data: bytes = b"") -> None:
    """Discard what a refused client still sends."""


class GatedRequest(WebRequest):
    """A request that is checked once its headers are there, unless its body is short, and again while a body of unknown
    length comes."""

    is_refused = False  # it is not to be processed
    _length: int | None = 0
    _taken = 0
    _passage: Passage | None = None

    def gotLength(self, length: int | None) -> None:
        """Called by Twisted once the headers are there; `length` is None if the body comes in chunks."""
        self._length = length
        self.channel.transport.expect(length or 0)
        if length is None or length > SHORT_BODY:
            self._pass_gate(length or 0)
        self.content = io.BytesIO()
        if not self.is_refused:
            self._keep(partial(super().gotLength, length))

    def handleContentChunk(self, data: bytes) -> None:
        """Called by Twisted with a piece of the body."""
        self._taken += len(data)
        if self._length is not None:
            self.channel.transport.expect(self._length - self._taken)
        if self._length is None and not self.is_refused:
            self._pass_gate(self._taken)
        if not self.is_refused:
            self._keep(partial(super().handleContentChunk, data))

    def _keep(self, take: Callable[[], None]) -> None:
        """Keep what has come of the body. Twisted puts long ones in files, for which there may be no room, or no
        descriptor; at the end of a request nobody could be told."""
        try:
            take()
            self.content.flush()
        except OSError as error:
            logger.warning("the body of a request cannot be kept: %s", error)
            self.content = io.BytesIO()  # Twisted goes back to its beginning, which would write the rest
            self._refuse(self.server.malformed(self.channel._path, 503, NO_ROOM, self.all_headers))

    def _pass_gate(self, length: int) -> None:
        if self._passage is None and self.server.gate is not None:
            headers = self.all_headers
            client = self.server.client_of(self.channel.getPeer().host, headers)
            self._passage = self.server.gate(self.channel._path, headers, client)
        answer = None if self._passage is None else self._passage(length)
        if answer is not None:
            self._refuse(answer)

    @property
    def all_headers(self) -> Headers:
        """All headers, with names in lower case."""
        named = self.requestHeaders.getAllRawHeaders()
        return [(name.lower(), value) for name, values in named for value in values]

    def _refuse(self, answer: bytes) -> None:
        self.is_refused = True
        self.requestHeaders.removeHeader(b"expect")
        end_with(self.channel, answer)
