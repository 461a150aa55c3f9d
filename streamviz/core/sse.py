"""Server-sent events, read as they arrive and written.

Format: https://html.spec.whatwg.org/multipage/server-sent-events.html. Lines end in LF, CRLF or CR; an empty
line ends an event. Three things differ from how a browser reads them, because this serves a recording relay:

- every byte comes out again: joined, the `raw` of all events is the input, comments and blank lines included;
- an event that the end of input cuts before its empty line is still returned;
- an event of more than 20,000 LFs and CRs is not read, as nothing else could run meanwhile: it is ambiguous.
"""

import re
from collections.abc import Sequence

import msgspec

EVENT_STREAM = "text/event-stream"
BOM = b"\xef\xbb\xbf"
# A comment, which clients ignore, for formats that have no `ping`.
KEEP_ALIVE = b": keep-alive\n\n"
# A CR counts as a line end of its own only if no LF follows, or CRLF would read as an empty line.
_END_OF_EVENT = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))")
_LINE = re.compile(rb"\r\n|\n|\r")
_MARKED_LINE = re.compile(rb"(?m)^(?:\xef\xbb\xbf)+|(?<=\r)(?:\xef\xbb\xbf)+")
_LONGEST_END = 4
_MOST_LINES = 20_000
# Other characters at which some clients end a line (Python's str.splitlines, and what uses it), in UTF-8.
_OTHER_ENDS_OF_ASCII = b"\x0b\x0c\x1c\x1d\x1e"
_OTHER_ENDS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
_OTHER_FIELD = re.compile(rb"(?:[\x0b\x0c\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9])[ \t]*(?:data|event)")
# For each that JSON may contain unescaped: its last byte, which is looked for first as that is quick, all of its bytes,
# and its escape.
_ESCAPED = (
    (0xA8, b"\xe2\x80\xa8", b"\\u2028"),
    (0xA9, b"\xe2\x80\xa9", b"\\u2029"),
    (0x85, b"\xc2\x85", b"\\u0085"),
)
_FIELDS = frozenset((b"", b"data", b"event", b"id", b"retry"))


class SSEEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: `raw` is every byte of it, `data` its payload (None when it has none), `name` its `event:`."""

    raw: bytes
    data: bytes | None
    name: str = ""


class SSEParser:
    """Bytes in, whole events out; the pieces in which the bytes come make no difference.

    A CR that ends the input so far may be half of a CRLF: the event is returned once the next byte, or the end, has
    come.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._has_cr = False
        self._at_start = True

    @property
    def waiting(self) -> int:
        """How many bytes there are of an incomplete event."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[SSEEvent]:
        """The events that `data` completes."""
        self._has_cr = self._has_cr or b"\r" in data
        if self._buffer:
            # An event that comes in many pieces is searched once, not once per piece.
            self._buffer += data
            if not self._end_of_event(self._buffer, self._searched):
                self._searched = max(0, len(self._buffer) - _LONGEST_END + 1)
                return []
            data = bytes(self._buffer)
            self._buffer.clear()
        events: list[SSEEvent] = []
        start = 0
        while end := self._end_of_event(data, start):
            events.append(self._event(data[start:end]))
            start = end
        self._buffer += data[start:]
        self._searched = max(0, len(self._buffer) - _LONGEST_END + 1)
        return events

    def close(self) -> list[SSEEvent]:
        """What the end of input leaves: at most one event, perhaps cut off in the middle."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        return [self._read_lines(rest)] if rest else []

    def _end_of_event(self, data: bytes | bytearray, search: int) -> int:
        """Where the first event that ends after `search` ends; 0 while that is not known."""
        if not self._has_cr:
            found_at = data.find(b"\n\n", search)
            return found_at + 2 if found_at >= 0 else 0
        found = _END_OF_EVENT.search(data, search)
        if found is None:
            return 0
        end = found.end()
        undecided = end == len(data) and data[end - 1] == 0x0D
        return 0 if undecided else end

    def _event(self, raw: bytes) -> SSEEvent:
        # Nearly every event of every provider is one `data: ` line, perhaps behind one with its name; the rest are read
        # line by line.
        if not (self._has_cr and b"\r" in raw):
            if raw.startswith(b"data: ") and raw.count(b"\n") == 2:
                self._at_start = False
                return SSEEvent(raw, raw[6:-2])
            if raw.startswith(b"event: ") and raw.count(b"\n") == 3:
                data_at = raw.find(b"\n") + 7
                if raw[data_at - 6 : data_at] == b"data: ":
                    self._at_start = False
                    return SSEEvent(raw, raw[data_at:-2], raw[7 : data_at - 7].decode("utf-8", "replace"))
        return self._read_lines(raw)

    def _read_lines(self, raw: bytes) -> SSEEvent:
        text = raw.removeprefix(BOM) if self._at_start else raw
        self._at_start = False
        if _has_many_lines(text):
            return SSEEvent(raw, None)
        data: list[bytes] = []
        name = b""
        for line in _LINE.split(text) if self._has_cr else text.split(b"\n"):
            field, colon, value = line.partition(b":")
            if not field:
                continue
            value = value.removeprefix(b" ") if colon else b""
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value
        return SSEEvent(raw, b"\n".join(data) if data else None, name.decode("utf-8", "replace"))


def events_in(raw: bytes) -> Sequence[SSEEvent]:
    """All events in bytes that are complete."""
    if is_one_line(raw):
        return (SSEEvent(raw, raw[6:-2]),)
    parser = SSEParser()
    return (*parser.feed(raw), *parser.close())


def is_one_line(raw: bytes) -> bool:
    """Whether bytes are one event of one line `data: …`, as nearly all are: its data is between these 6 and the last 2
    bytes."""
    return raw.startswith(b"data: ") and raw.endswith(b"\n\n") and raw.count(b"\n") == 2 and b"\r" not in raw


def is_named_line(raw: bytes, head: bytes) -> bool:
    """Whether bytes are one event of `head`, a line with its name and `data: `, and one line of data, up to the last 2
    bytes."""
    return raw.startswith(head) and raw.endswith(b"\n\n") and raw.count(b"\n") == 3 and b"\r" not in raw


def is_ambiguous(raw: bytes, data: bytes | None) -> bool:
    """Whether clients may find something other than `data`, which is what was read here, in an event.

    Some end lines at more characters than the format has, some take a body without data for plain JSON, and some skip a
    byte order mark before any line. Such a line end is harmless within a single line of data if no field begins after
    it.
    """
    if BOM in raw and _has_marked_field(raw, data):
        return True
    if data is None:
        return (
            _has_many_lines(raw)
            or _other_ends(raw) > 0
            or any(line.partition(b":")[0] not in _FIELDS for line in _LINE.split(raw.removeprefix(BOM)))
        )
    ends = _other_ends(raw)
    return ends > 0 and (ends > _other_ends(data) or b"\n" in data or _OTHER_FIELD.search(raw) is not None)


def _has_many_lines(raw: bytes) -> bool:
    return raw.count(b"\n") + raw.count(b"\r") > _MOST_LINES


def _has_marked_field(raw: bytes, data: bytes | None) -> bool:
    """Whether the data would be different without the marks before lines; the first line of a stream may have one."""
    return [event.data for event in events_in(_MARKED_LINE.sub(b"", raw))] != [data]


def _other_ends(text: bytes) -> int:
    ends = len(text) - len(text.translate(None, _OTHER_ENDS_OF_ASCII))
    return ends if text.isascii() else ends + sum(map(text.count, _OTHER_ENDS))


def write_event(data: bytes, name: str = "") -> bytes:
    """One event with `data`, which is JSON, as its payload; an `event:` line comes first if it has a name.

    Characters that some clients also take for the end of a line are escaped: there they would end the event's data.
    """
    if not data.isascii():
        for last, character, escaped in _ESCAPED:
            if data.find(last) >= 0:
                data = data.replace(character, escaped)
    if data.find(b"\n") < 0 and data.find(b"\r") < 0:
        lines = b"data: %b\n" % data
    else:
        lines = b"".join(b"data: %b\n" % line for line in _LINE.split(data))
    return b"event: %b\n%b\n" % (name.encode(), lines) if name else lines + b"\n"
