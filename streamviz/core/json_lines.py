"""Answers that are no server-sent events: one JSON object a line, as logs and recordings have them, or a whole one."""

from typing import Protocol

from streamviz.core.json_value import decode, encode, objects
from streamviz.core.sse import SSEEvent, SSEParser

_BOM = b"\xef\xbb\xbf"


class Parser(Protocol):
    """Finds events in bytes that come in any pieces."""

    def feed(self, data: bytes) -> list[SSEEvent]: ...

    def close(self) -> list[SSEEvent]: ...


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


class AnyFraming:
    """Server-sent events, or lines of JSON where the bytes begin as such."""

    def __init__(self) -> None:
        self._start = b""
        self._parser: Parser | None = None

    def feed(self, data: bytes) -> list[SSEEvent]:
        """The events that these bytes complete."""
        if self._parser is not None:
            return self._parser.feed(data)
        self._start += data
        begun = self._start.removeprefix(_BOM).lstrip()
        if not begun or _BOM.startswith(begun):
            return []
        is_json = begun[:1] in (b"{", b"[")
        self._parser = JSONLines() if is_json else SSEParser()
        return self._parser.feed(begun if is_json else self._start)

    def close(self) -> list[SSEEvent]:
        """What is left at the end of input."""
        return [] if self._parser is None else self._parser.close()


def _event(data: bytes) -> SSEEvent:
    return SSEEvent(data, data)
