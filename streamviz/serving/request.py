"""One request to the server: how the application learns of it, and how its answer and its connection end.

Anything but a websocket bypasses Daphne's own reading of requests and writing of answers, which checks each byte of
each header for what a websocket's may not have, lets a header set the root path, and logs each request's end.
"""

from streamviz.serving.event_loop import reactor  # isort: skip  (before Daphne)

import asyncio
from http import HTTPStatus
from time import time
from typing import Any
from urllib.parse import unquote

from streamviz.asgi_types import WHY, Message
from streamviz.serving.gate import GatedRequest, Headers

APPLICATION_CLOSE_SECONDS = 10  # how long an application gets to end by itself after its client has left
REQUEST_PART_BYTES = 64 * 1024
SERVER_NAME = b"streamviz"


class Request(GatedRequest):
    """Daphne's request, for an application that reads forms itself, and may fail in the middle of its response."""

    # Requests are looked up for each message: Daphne's own versions, which do the same in Python, take ten times as
    # long.
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    _why = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        self.left: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    def process(self) -> Any:
        """Called by Twisted once the request is complete. A websocket, which is asked for with GET, may be for another
        process."""
        if self.is_refused:
            return None
        self.client_addr = [self.client.host, self.client.port]
        if self.method == b"GET" and self._asks_for_websocket():
            return self._open_websocket()
        if self.uri.isascii():
            self._serve()
        else:
            self.basic_error(HTTPStatus.BAD_REQUEST, b"", "Invalid characters in the request target")
        return None

    def _open_websocket(self) -> Any:
        self._forget_headers()
        self._join_cookies()
        if (answer := self.server.no_websocket(self.uri, self.all_headers)) is not None:
            self._refuse_whole(HTTPStatus.UPGRADE_REQUIRED, answer)
        elif not self._is_handed_over():
            return super().process()
        return None

    def _serve(self) -> None:
        """Have the application answer."""
        self.request_start = time()
        self._keep_session_header()
        scope = {
            "type": "http",
            "http_version": self.clientproto.removeprefix(b"HTTP/").decode("ascii"),
            "method": self.method.decode("ascii"),
            "path": unquote(self.path.decode("ascii")),
            "raw_path": self.path,
            "root_path": self.server.root_path,
            "scheme": "http",
            "query_string": self.uri.partition(b"?")[2],
            "headers": [each for each in self.all_headers if b"_" not in each[0]],
            "client": self.client_addr,
            "server": [self.host.host, self.host.port],
        }
        self.application_queue = self.server.create_application(self, scope)
        more = True
        while more:
            part = self.content.read(REQUEST_PART_BYTES)
            more = len(part) == REQUEST_PART_BYTES
            self.application_queue.put_nowait({"type": "http.request", "body": part, "more_body": more})

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Refuse a malformed request in its client's format, where Daphne answers with a page."""
        if status == HTTPStatus.BAD_REQUEST:
            self._refuse_whole(status, self.server.malformed(self.uri, status, f"{body}.", self.all_headers))
        else:
            super().basic_error(status, status_text, body)

    def _refuse_whole(self, status: int, answer: bytes) -> None:
        """Refuse a request that has come whole, and so has an access line."""
        self.request_start = time()
        self.code, self._response_started = status, True
        self._refuse(answer)

    def _keep_session_header(self) -> None:
        """Keep the `session_id` of older Codex. Names with an underscore are dropped, as CGI takes them for those with
        a hyphen."""
        headers = self.requestHeaders
        if (values := headers.getRawHeaders(b"session_id")) and not headers.hasHeader(b"session-id"):
            headers.setRawHeaders(b"session-id", values)

    def _forget_headers(self) -> None:
        """Remove headers that clients may not choose; besides, Daphne reads the protocols as ASCII, whatever they
        are."""
        for name in (b"daphne-root-path", b"sec-websocket-protocol"):
            self.requestHeaders.removeHeader(name)

    def _join_cookies(self) -> None:
        """A proxy may leave the cookies of an HTTP/2 request in several headers, which the handshake would join with
        commas."""
        if values := self.requestHeaders.getRawHeaders(b"cookie"):
            self.requestHeaders.setRawHeaders(b"cookie", [b"; ".join(values)])

    def _asks_for_websocket(self) -> bool:
        asked: list[bytes] = self.requestHeaders.getRawHeaders(b"upgrade", [])
        return [value.lower() for value in asked] == [b"websocket"]

    def _is_handed_over(self) -> bool:
        hand_over, transport = self.server.hand_over, self.channel.transport
        if hand_over is None or transport.has_unsent or not hand_over(transport.fileno(), self._as_it_came()):
            return False
        transport.detach()
        return True

    def _as_it_came(self) -> bytes:
        headers = [b"%b: %b" % (name, b",".join(values)) for name, values in self.requestHeaders.getAllRawHeaders()]
        return b"\r\n".join([b"%b %b HTTP/1.1" % (self.method, self.uri), *headers, b"", b""])

    def handle_reply(self, message: Message) -> None:
        """Called by the server with one of the application's messages. Raises ValueError for one that is out of
        order."""
        if self.finished or self.channel is None:
            return
        begins = message["type"] == "http.response.start"
        if begins == self._response_started:
            raise ValueError(f"{message['type']} is out of order")
        if begins:
            self._begin(message["status"], message.get("headers", ()))
        elif self.startedWriting and message.get("more_body", False):
            self.write(message.get("body", b""))
        else:
            # The head, which Twisted writes separately, is sent with the first piece, and the end with the last.
            with self.channel.transport.at_once():
                self.write(message.get("body", b""))
                if not message.get("more_body", False):
                    self.finish()

    def _begin(self, status: int, headers: Headers) -> None:
        self._response_started = True
        self.setResponseCode(status)
        for name, value in headers:
            self.responseHeaders.addRawHeader(name, value)
        if not self.responseHeaders.hasHeader(b"server"):
            self.responseHeaders.setRawHeaders(b"server", [SERVER_NAME])

    def cut_off(self, why: str) -> None:
        """Drop the connection without another word, and tell the application why."""
        self._why = why
        self.channel.transport.abortConnection()

    def send_disconnect(self) -> None:
        """Called by Daphne when the client has left, was cut off, or has its whole answer."""
        message = {"type": "http.disconnect", WHY: self._why}
        self.application_queue.put_nowait(message)
        if not self.left.done():
            self.left.set_result(message)

    def handle_exception(self, exception: BaseException) -> None:
        """Answer 500 if no answer has begun, otherwise cut the connection: the client must not take the answer for
        complete."""
        self.server.release_brake(self)
        if self._response_started:
            self.hang_up()
        else:
            super().handle_exception(exception)

    def hang_up(self) -> None:
        """Close the connection in the middle of its answer, once the client has taken what is on its way; drop it if
        that takes too long."""
        self.server.release_brake(self)
        transport = self.channel.transport
        self.channel.loseConnection()
        reactor.callLater(APPLICATION_CLOSE_SECONDS, transport.abortConnection)
