"""Chunks that differ from the one before them only in their text, as nearly all of a stream do: most of the time that
reading a chunk takes would go into finding that out."""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import msgspec

from streamviz.core.events import BlockDelta
from streamviz.core.json_value import JsonObject, decode
from streamviz.core.sse import BOM, events_in, is_ambiguous

# How many chunks are tried in a stream whose chunks differ in more than their text, such as a time.
_TRIES = 8
# Longer ones are read aside (`processor`).
_LONGEST = 8_000
_CLOSING = b" }]\n"
_PROBE = "streamviz"
# OpenAI's and Mistral's padding, which hides how long the text is.
PADDING = ("obfuscation", "p")

_text = msgspec.json.Decoder(str).decode


class TextPlace(NamedTuple):
    """The member of a payload that has its text."""

    members: JsonObject
    name: str


class _Varying(NamedTuple):
    """A member whose value differs from chunk to chunk, and which clients ignore: what it looks like in a chunk, with
    its value as the group; what any value looks like; and a value to try."""

    member: re.Pattern[bytes]
    value: re.Pattern[bytes]
    probe: str | int


_VARYING: Mapping[str, _Varying] = {
    "sequence_number": _Varying(
        re.compile(rb'"sequence_number": ?(0|[1-9]\d{0,9})(?=[,}])'), re.compile(rb"0|[1-9]\d{0,9}"), 987_654_321
    ),
    **{
        name: _Varying(
            re.compile(rb'"%b": ?"([A-Za-z\d]{0,64})"' % name.encode()), re.compile(rb"[A-Za-z\d]{0,64}"), "letters"
        )
        for name in PADDING
    },
}


Places = Callable[[JsonObject], TextPlace | None]


class _Read(NamedTuple):
    """An event that was read as `name` and `payload` and added `made` to a block, with a text from where `places`
    says, if anywhere."""

    raw: bytes
    name: str
    payload: JsonObject
    places: Places
    made: BlockDelta


class _Piece(NamedTuple):
    """Bytes that are the same in each chunk, and the name of the member whose value follows, if any."""

    same: bytes
    varying: str


class _Gap(NamedTuple):
    """A value that varies, and the bytes between it and the next gap, or the text."""

    varying: str
    beside: bytes


class Repeats:
    """Recognises the next chunk by the last one that was read, and returns what it adds to the block `ordinal`.

    `padding` is that of the latest chunk, None if it has none.
    """

    def __init__(self) -> None:
        self.ordinal = 0
        self.padding: str | None = None
        # The last chunk before its text, including the quote that the text begins with, and after it, both from the
        # outside up to the first gap; then gap by gap.
        self._before: bytes | None = None
        self._after = b""
        self._ahead: list[_Gap] = []
        self._behind: list[_Gap] = []
        # Whether only brackets follow the text, with any number of spaces between them: some providers pad like that.
        self._is_padded = False
        self._tries = _TRIES
        self._latest: _Read | None = None

    def text_of(self, raw: bytes) -> str:
        """The text of a chunk that is otherwise like the last; empty if it is not, or may not be to some clients.

        If there is one JSON text between the two ends of the last chunk, the rest means what it meant there, to any
        reader of JSON. What is not to the letter of the format is read like any other chunk.
        """
        if len(raw) > _LONGEST:
            return ""
        if (latest := self._latest) is not None:
            self._latest = None
            self._learn(*latest)
        before = self._before
        if before is None or not raw.startswith(before):
            return ""
        quoted = raw[self._start_of_text(raw) - 1 : self._end_of_text(raw)]
        if quoted[-1:] != b'"':  # white space after a text is not part of it
            return ""
        try:
            text = _text(quoted)
        except ValueError:
            return ""
        if not quoted.isascii() and is_ambiguous(raw, quoted):
            return ""
        self._tries = _TRIES
        return text

    def _start_of_text(self, raw: bytes) -> int:
        """Where the text begins; past the end if the chunk does not begin like the last one."""
        assert self._before is not None
        start = len(self._before)
        for name, beside in self._ahead:
            end = raw.find(beside, start)
            if not self._may_be(name, raw, start, end):
                return len(raw) + 1
            start = end + len(beside)
        return start

    def _end_of_text(self, raw: bytes) -> int:
        """Where the text ends; 0 if the chunk does not end like the last one."""
        after = self._after
        if self._is_padded:
            end = raw.rfind(b'"') + 1
            return end if raw[end:].translate(None, b" ") == after else 0
        if not raw.endswith(after):
            return 0
        end = len(raw) - len(after)
        for name, beside in self._behind:
            at = raw.rfind(beside, 0, end)
            if at < 0 or not self._may_be(name, raw, at + len(beside), end):
                return 0
            end = at
        return end

    def _may_be(self, name: str, raw: bytes, start: int, end: int) -> bool:
        """Whether there is a value of the varying member; padding is noted, as it may say something."""
        is_one = _VARYING[name].value.fullmatch(raw, start, end) is not None
        if is_one and name in PADDING:
            self.padding = raw[start:end].decode()
        return is_one

    def forget(self) -> None:
        """Forget the last chunk: one that is read may change how the next one is to be read."""
        self._before = self.padding = self._latest = None

    @property
    def may_learn(self) -> bool:
        """Whether learning is still worth while."""
        return self._tries > 0

    def learn(self, raw: bytes, name: str, payload: JsonObject, places: Places, made: BlockDelta) -> None:
        """Recognise the next chunk by this event, read as `name` and `payload`, which added `made` to a block. What to
        recognise it by is worked out only when it comes, as the client is still waiting for this event."""
        self._latest = _Read(raw, name, payload, places, made)

    def _learn(self, raw: bytes, name: str, payload: JsonObject, places: Places, made: BlockDelta) -> None:
        if (place := places(payload)) is None:
            return
        self._tries -= 1
        if not _is_usual(raw):
            return
        text = made.text
        # An empty text may be harmless where any other would not be.
        if not text or text == _PROBE or made != BlockDelta(made.ordinal, text):
            return
        quoted = b'"%b"' % text.encode("utf-8", "replace")
        at = raw.find(quoted)
        if place.members[place.name] != text or at < 0 or raw.find(quoted, at + 1) >= 0:
            return
        ahead, behind = _pieces_of(raw[: at + 1], payload), _pieces_of(raw[at + len(quoted) :], payload)
        names = [each for _, each in (*ahead, *behind) if each]
        place.members[place.name] = _PROBE
        is_known = _can_vary(names, payload) and _says(
            b'%b%b"%b' % (_probing(ahead), _PROBE.encode(), _probing(behind)),
            name,
            payload | {each: _VARYING[each].probe for each in names},
        )
        place.members[place.name] = text
        if is_known:
            self._know(ahead, behind)
            self.ordinal = made.ordinal

    def _know(self, ahead: list[_Piece], behind: list[_Piece]) -> None:
        self._before, self._after = ahead[0].same, behind[-1].same
        self._ahead = [_Gap(before.varying, after.same) for before, after in pairwise(ahead)]
        self._behind = [_Gap(piece.varying, piece.same) for piece in reversed(behind[:-1])]
        self._is_padded = not self._behind and not self._after.translate(None, _CLOSING)
        if self._is_padded:
            self._after = self._after.translate(None, b" ")


def _pieces_of(side: bytes, payload: JsonObject) -> list[_Piece]:
    """One side of the text in pieces, each with the member whose value follows; none follows the last."""
    found = [
        (match.start(1), match.end(1), name)
        for name, varying in _VARYING.items()
        if name in payload
        for match in varying.member.finditer(side)
    ]
    pieces, at = [], 0
    for start, end, name in sorted(found):
        pieces.append(_Piece(side[at:start], name))
        at = end
    return [*pieces, _Piece(side[at:], "")]


def _can_vary(names: list[str], payload: JsonObject) -> bool:
    """Whether each of these members occurs once, and not with the value to try: if the payload has that once it is
    tried, what it replaced was the member's value. Only one padding can be noted."""
    is_once = len(set(names)) == len(names) and len(set(names).intersection(PADDING)) < 2
    return is_once and all(payload[name] != _VARYING[name].probe for name in names)


def _probing(pieces: list[_Piece]) -> bytes:
    return b"".join(b"%b%b" % (same, str(_VARYING[name].probe).encode() if name else b"") for same, name in pieces)


def _is_usual(raw: bytes) -> bool:
    """Whether an event has one line of data, and nothing that some clients read differently."""
    lines = raw.count(b"\n") - raw.startswith(b"event: ")
    return lines == 2 and raw.endswith(b"\n\n") and b"\r" not in raw and BOM not in raw and len(raw) <= _LONGEST


def _says(raw: bytes, name: str, payload: JsonObject) -> bool:
    """Whether bytes are one event with this name and payload."""
    try:
        [event] = events_in(raw)
        return event.name == name and event.data is not None and decode(event.data) == payload
    except ValueError:  # what was taken for its text is not its text
        return False
