"""A stream of Gemini's as one JSON list, for clients that do not ask for events."""

from asgiref.typing import ASGISendCallable, ASGISendEvent

from streamviz.core.aggregator import DONE
from streamviz.core.sse import SSEEvent, SSEParser
from streamviz.core.wire.gemini_errors import bare_error


class AsList:
    """An application's `send` that puts the events of a stream into one list, as its members.

    What has no meaning outside events, such as a keep-alive or an end mark, becomes white space.
    """

    def __init__(self, send: ASGISendCallable) -> None:
        self._send = send
        self._parser = SSEParser()
        self._is_stream = False
        self._has_begun = False

    async def __call__(self, event: ASGISendEvent) -> None:
        if event["type"] == "http.response.start":
            self._is_stream = any(value.startswith(b"text/event-stream") for _, value in event["headers"])
            if self._is_stream:
                kept = [each for each in event["headers"] if each[0] != b"content-type"]
                event = {**event, "headers": [*kept, (b"content-type", b"application/json")]}
        elif event["type"] == "http.response.body" and self._is_stream:
            event = {**event, "body": self._written(event["body"], is_last=not event["more_body"])}
        await self._send(event)

    def _written(self, data: bytes, *, is_last: bool) -> bytes:
        events = [*self._parser.feed(data), *(self._parser.close() if is_last else ())]
        written = b"".join(self._member(event) for event in events)
        if not is_last:
            return written
        return written + (b"]" if self._has_begun else b"[]")

    def _member(self, event: SSEEvent) -> bytes:
        data = event.data or bare_error(event.raw)
        if not data or data.startswith(DONE):
            return b"\n"
        before = b",\r\n" if self._has_begun else b"["
        self._has_begun = True
        return before + data
