"""Answers that are no server-sent events: one JSON object a line, as logs and recordings have them, or a whole one."""

from streamviz.core.json_value import decode, encode, objects
from streamviz.core.sse import SSEEvent


class JSONLines:
    """Each object is an event. One that goes on over several lines, and a list of them, is read at the end."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._open: list[bytes] = []

    def feed(self, data: bytes) -> list[SSEEvent]:
        """The events that these bytes complete."""
        if b"\n" not in data:
            self._pieces.append(data)
            return []
        *lines, rest = b"".join([*self._pieces, data]).split(b"\n")
        self._pieces = [rest]
        return [event for line in lines for event in self._read(line.strip())]

    def close(self) -> list[SSEEvent]:
        """What is left: the last line, or all of a value that was open."""
        events = self._read(b"".join(self._pieces).strip())
        if not self._open:
            return events
        rest = b"\n".join(self._open)
        try:
            found = objects(decode(rest))
        except ValueError:
            return [*events, SSEEvent(rest, rest)]
        return [*events, *(_event(encode(each)) for each in found)]

    def _read(self, line: bytes) -> list[SSEEvent]:
        if not self._open and line.startswith(b"{") and line.endswith(b"}"):
            return [_event(line)]
        if line:
            self._open.append(line)
        return []


def _event(data: bytes) -> SSEEvent:
    return SSEEvent(data, data)
