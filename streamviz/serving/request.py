"""One request to the server: what of it is kept from Daphne, and how its connection ends."""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Daphne)

import asyncio
from http import HTTPStatus
from time import time
from typing import Any

from daphne import http_protocol

from streamviz.asgi_types import WHY, Message
from streamviz.serving.gate import GatedRequest

# What Daphne refuses in headers, as Autobahn, which reads a websocket's once more, takes it for the end of a line. Of
# others 0x85 may be a part of a letter in UTF-8, such as Å or 公.
_LINE_ENDS: frozenset[int] = http_protocol.INVALID_HEADER_VALUE_BYTES
_NONE: frozenset[int] = frozenset()
APPLICATION_CLOSE_SECONDS = 10  # what an application gets to end by itself after its client has left


class Request(GatedRequest):
    """Daphne's request, for an application that reads forms itself, and may fail in the middle of its response."""

    # It is looked up for each message: Daphne's own, which are the same in Python, cost ten times as much.
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    _why = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        self.left: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    def process(self) -> Any:
        """Called by Twisted once the request is whole. A websocket may be for another process."""
        if self.is_refused:
            return None
        self._keep_session_header()
        self._forget_headers()
        if self.method != b"GET":
            self.requestHeaders.removeHeader(b"upgrade")  # a websocket is asked for with GET; Daphne takes any for one
        if self._asks_for_websocket():
            if (answer := self.server.no_websocket(self.uri, self.all_headers)) is not None:
                self._refuse_whole(HTTPStatus.UPGRADE_REQUIRED, answer)
                return None
            if self._is_handed_over():
                return None
        http_protocol.INVALID_HEADER_VALUE_BYTES = _LINE_ENDS if self.requestHeaders.hasHeader(b"upgrade") else _NONE
        return super().process()

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Called by Daphne, which would answer with a page."""
        if status == HTTPStatus.BAD_REQUEST:
            self._refuse_whole(status, self.server.malformed(self.uri, status, f"{body}.", self.all_headers))
        else:
            super().basic_error(status, status_text, body)

    def _refuse_whole(self, status: int, answer: bytes) -> None:
        """One that has come whole has an access line."""
        self.request_start = time()
        self.code, self._response_started = status, True
        self._refuse(answer)

    def _keep_session_header(self) -> None:
        """Daphne drops names with an underscore, which CGI takes for those with a hyphen; older Codex sends one."""
        headers = self.requestHeaders
        if (values := headers.getRawHeaders(b"session_id")) and not headers.hasHeader(b"session-id"):
            headers.setRawHeaders(b"session-id", values)

    def _forget_headers(self) -> None:
        """A client would choose what our pages' links begin with, and either is read as ASCII, whatever it is."""
        for name in (b"daphne-root-path", b"sec-websocket-protocol"):
            self.requestHeaders.removeHeader(name)

    def _asks_for_websocket(self) -> bool:
        asked: list[bytes] = self.requestHeaders.getRawHeaders(b"upgrade", [])
        return [value.lower() for value in asked[:1]] == [b"websocket"]

    def _is_handed_over(self) -> bool:
        hand_over, transport = self.server.hand_over, self.channel.transport
        if hand_over is None or transport.has_unsent or not hand_over(transport.fileno(), self._as_it_came()):
            return False
        transport.detach()
        return True

    def _as_it_came(self) -> bytes:
        headers = [b"%b: %b" % (name, b",".join(values)) for name, values in self.requestHeaders.getAllRawHeaders()]
        return b"\r\n".join([b"%b %b HTTP/1.1" % (self.method, self.uri), *headers, b"", b""])

    def cut_off(self, why: str) -> None:
        """Drop the connection without a further word, and tell the application why."""
        self._why = why
        self.channel.transport.abortConnection()

    def send_disconnect(self) -> None:
        """Called by Daphne when the client has left, or was cut off."""
        message = {"type": "http.disconnect", WHY: self._why}
        self.application_queue.put_nowait(message)
        if not self.left.done():
            self.left.set_result(message)

    def handle_exception(self, exception: BaseException) -> None:
        """Answer 500 while there is no answer yet, else cut the connection: the client must not take it for whole."""
        if self._response_started:
            self.hang_up()
        else:
            super().handle_exception(exception)

    def hang_up(self) -> None:
        """Close the connection in the midst of its answer, once the client has what is on its way, if it takes it."""
        self.server.release_brake(self)
        transport = self.channel.transport
        self.channel.loseConnection()
        reactor.callLater(APPLICATION_CLOSE_SECONDS, transport.abortConnection)
