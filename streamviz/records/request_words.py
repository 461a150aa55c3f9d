"""What of a request can be searched for. Requests repeat all that was said before, so that of a session's first all is
looked at, and of each that follows only what came after the model's last words, and what it offers otherwise."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streamviz.core.json_value import value_in
from streamviz.core.request_outline import RequestOutline, asked_since, outline_of, parts_of, system_of
from streamviz.core.wire import WIRE_FORMATS

# As of blocks (migrations/_search.py): of more the beginning is found.
MOST_CHARACTERS = 100_000


class Words(NamedTuple):
    """A text of a request, and whose it is: a role, or what stands over the conversation."""

    whose: str
    text: str


class RequestText:
    """The texts of a stored request, of the wire format of this name; one that is none says nothing."""

    def __init__(self, body: bytes, wire_format: str) -> None:
        known = WIRE_FORMATS.get(wire_format)
        self._outline = outline_of(body, known) if known is not None and body else None

    @property
    def standing(self) -> int:
        """A digest of what stands over the conversation: a number that a bigint holds."""
        outline = self._outline
        if outline is None:
            return 0
        standing = (outline.system, outline.tools, *outline.turns[: outline.standing])
        digest = hashlib.blake2b(b"\0".join(standing), digest_size=8).digest()
        return int.from_bytes(digest, signed=True)

    def new(self) -> Iterator[Words]:
        """What came after the model's last words."""
        if self._outline is not None:
            yield from _said(self._outline, asked_since(self._outline))

    def over(self) -> Iterator[Words]:
        """The system prompt, and the tools that are offered."""
        if self._outline is not None:
            yield Words("system prompt", system_of(self._outline))
            yield Words("tools offered", " ".join(_strings(value_in(self._outline.tools))))

    def before(self) -> Iterator[Words]:
        """What was said before that."""
        if (outline := self._outline) is not None:
            end = len(outline.turns) - len(asked_since(outline))
            yield from _said(outline, outline.turns[outline.standing : end])


def searched(request: RequestText, *, is_first: bool, is_known: bool) -> str:
    """What of a request is searched. `is_known`: its session has what stands over it already."""
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
    """All texts in a JSON value, the names of its fields too."""
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
