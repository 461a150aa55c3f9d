"""Answers that are not server-sent events: one JSON object per line, as in logs and recordings, or a whole one."""

from streamviz.core.json_value import decode, encode, objects
from streamviz.core.sse import SSEEvent


class JSONLines:
    """Each object is an event. An object over several lines, or a list of objects, is read at the end."""

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
        """The events left at the end: of the last line, or of all of an open value."""
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
