"""What can be searched of a request.

Requests repeat everything said before. So a session's first request is searched as a whole, and each later one only by
what came after the model's last answer, and by the system prompt and tools where those changed.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streamviz.core.json_value import value_in
from streamviz.core.request_outline import RequestOutline, asked_since, outline_of, parts_of, system_of
from streamviz.core.wire import WIRE_FORMATS

# The same limit as for blocks (migrations/_search.py): of longer texts only the beginning is searched.
MOST_CHARACTERS = 100_000


class Words(NamedTuple):
    """A text of a request, and whose it is: a role, the system prompt, or the tools offered."""

    whose: str
    text: str


class RequestText:
    """The texts of a stored request in the wire format of this name; an unknown format gives none."""

    def __init__(self, body: bytes, wire_format: str) -> None:
        known = WIRE_FORMATS.get(wire_format)
        self._outline = outline_of(body, known) if known is not None and body else None

    @property
    def preamble_digest(self) -> int:
        """A digest of the system prompt, the tools and the leading system turns, as a number that fits in a bigint."""
        outline = self._outline
        if outline is None:
            return 0
        preamble = (outline.system, outline.tools, *outline.turns[: outline.system_turns])
        digest = hashlib.blake2b(b"\0".join(preamble), digest_size=8).digest()
        return int.from_bytes(digest, signed=True)

    def new(self) -> Iterator[Words]:
        """What came after the model's last answer."""
        if self._outline is not None:
            yield from _said(self._outline, asked_since(self._outline))

    def over(self) -> Iterator[Words]:
        """The system prompt, and the tools offered."""
        if self._outline is not None:
            yield Words("system prompt", system_of(self._outline))
            yield Words("tools offered", " ".join(_strings(value_in(self._outline.tools))))

    def before(self) -> Iterator[Words]:
        """The turns before those that are `new`."""
        if (outline := self._outline) is not None:
            end = len(outline.turns) - len(asked_since(outline))
            yield from _said(outline, outline.turns[outline.system_turns : end])


def searched(request: RequestText, *, is_first: bool, is_known: bool) -> str:
    """The searchable text of a request. `is_known` says that its session already has its system prompt and tools."""
    texts: list[str] = []
    room = MOST_CHARACTERS
    for part in (request.new, *(() if is_known else (request.over,)), *((request.before,) if is_first else ())):
        for words in part():
            texts.append(words.text[:room])
            room -= len(words.text) + 1
            if room <= 0:
                return "\n".join(texts)
    return "\n".join(texts)


def _said(outline: RequestOutline, turns: Sequence[bytes]) -> Iterator[Words]:
    for turn in turns:
        for part in parts_of(turn, outline.wire_format):
            yield Words(part.role, f"{part.name} {part.text}".strip())


def _strings(value: object) -> Iterator[str]:
    """All texts in a JSON value, including the names of its fields."""
    match value:
        case str():
            yield value
        case dict():
            for name, each in value.items():
                yield str(name)
                yield from _strings(each)
        case list():
            for each in value:
                yield from _strings(each)
