"""Finding events in bytes whose framing is not known."""

from typing import Protocol

from streamviz.core.json_lines import JSONLines
from streamviz.core.sse import BOM, SSEEvent, SSEParser


class Parser(Protocol):
    """Finds events in bytes that come in any pieces."""

    def feed(self, data: bytes) -> list[SSEEvent]: ...

    def close(self) -> list[SSEEvent]: ...


class AnyFraming:
    """Server-sent events, or lines of JSON if the bytes begin like those."""

    def __init__(self) -> None:
        self._start = b""
        self._parser: Parser | None = None

    def feed(self, data: bytes) -> list[SSEEvent]:
        """The events that these bytes complete."""
        if self._parser is not None:
            return self._parser.feed(data)
        self._start += data
        begun = self._start.removeprefix(BOM).lstrip()
        if not begun or BOM.startswith(begun):
            return []
        is_json = begun[:1] in (b"{", b"[")
        self._parser = JSONLines() if is_json else SSEParser()
        return self._parser.feed(begun if is_json else self._start)

    def close(self) -> list[SSEEvent]:
        """The events left at the end of input."""
        return [] if self._parser is None else self._parser.close()
