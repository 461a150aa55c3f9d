"""Chunks that are the one before them but for their text, as nearly all of a stream are: most of what reading a chunk
takes, it takes to find that out."""

from typing import NamedTuple

import msgspec

from streamviz.core.events import BlockDelta
from streamviz.core.json_value import JsonObject, decode
from streamviz.core.sse import BOM, events_in, is_ambiguous

# Of a stream whose chunks differ in more than their text, as by a number, so many are tried.
_TRIES = 8
# Longer ones are read aside (`processor`).
_LONGEST = 8_000
_CLOSING = b" }]\n"
_PROBE = "streamviz"

_text = msgspec.json.Decoder(str).decode


class TextPlace(NamedTuple):
    """The member of a payload that has its text."""

    members: JsonObject
    name: str


class Repeats:
    """Knows the next chunk by the last one that was read, and gives what it adds to the block `ordinal`."""

    def __init__(self) -> None:
        self.ordinal = 0
        # What there is of the last chunk before its text, with the quote that the text begins with, and behind it.
        self._before: bytes | None = None
        self._after = b""
        # Whether that is brackets alone, between which there may be more spaces or fewer: some providers pad.
        self._is_padded = False
        self._tries = _TRIES

    def text_of(self, raw: bytes) -> str:
        """The text of a chunk that is the last one but for that; empty where it is another, or may be one to some.

        Where what is between the two ends of the last chunk is one JSON text, the rest is what it was there, to any
        reader of JSON. What is not to the letter of the format is read as any other chunk is.
        """
        before = self._before
        if before is None or not raw.startswith(before) or len(raw) > _LONGEST:
            return ""
        quoted = raw[len(before) - 1 : self._end_of_text(raw)]
        if quoted[-1:] != b'"':  # white space behind a text is none of it
            return ""
        try:
            text = _text(quoted)
        except ValueError:
            return ""
        if not quoted.isascii() and is_ambiguous(raw, quoted):
            return ""
        self._tries = _TRIES
        return text

    def _end_of_text(self, raw: bytes) -> int:
        """Where the rest begins that is there behind the last chunk's text; 0 where it does not end so."""
        after = self._after
        if self._is_padded:
            end = raw.rfind(b'"') + 1
            return end if raw[end:].translate(None, b" ") == after else 0
        return len(raw) - len(after) if raw.endswith(after) else 0

    def forget(self) -> None:
        """Another chunk is read, which may change how the next one is."""
        self._before = None

    @property
    def may_learn(self) -> bool:
        """Whether it is worth while."""
        return self._tries > 0

    def learn(self, raw: bytes, name: str, payload: JsonObject, place: TextPlace, made: BlockDelta) -> None:
        """Know the next chunk by this event, which was read as `name` and `payload`, and `made` a block grow."""
        self._tries -= 1
        text = made.text
        # An empty text may be what nobody minds where any other would be minded.
        if not text or text == _PROBE or made != BlockDelta(made.ordinal, text) or not _is_usual(raw):
            return
        quoted = b'"%b"' % text.encode("utf-8", "replace")
        at = raw.find(quoted)
        if place.members[place.name] != text or at < 0 or raw.find(quoted, at + 1) >= 0:
            return
        before, after = raw[: at + 1], raw[at + len(quoted) :]
        place.members[place.name] = _PROBE
        is_known = _says(b'%b%b"%b' % (before, _PROBE.encode(), after), name, payload)
        place.members[place.name] = text
        if is_known:
            self._is_padded = not after.translate(None, _CLOSING)
            self._after = after.translate(None, b" ") if self._is_padded else after
            self._before, self.ordinal = before, made.ordinal


def _is_usual(raw: bytes) -> bool:
    """Whether an event has one line of data, and nothing that some clients read in a way of their own."""
    lines = raw.count(b"\n") - raw.startswith(b"event: ")
    return lines == 2 and raw.endswith(b"\n\n") and b"\r" not in raw and BOM not in raw and len(raw) <= _LONGEST


def _says(raw: bytes, name: str, payload: JsonObject) -> bool:
    """Whether bytes are one event that says this."""
    try:
        [event] = events_in(raw)
        return event.name == name and event.data is not None and decode(event.data) == payload
    except ValueError:  # what was taken for its text is not
        return False
