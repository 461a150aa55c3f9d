"""The differences between the requests of two streams."""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, encode, object_in
from streamviz.core.request_outline import RequestOutline, outline_of, parts_of, system_of, tools_of
from streamviz.core.wire import WIRE_FORMATS
from streamviz.live.presentation.comparison import Piece, beside_each_other
from streamviz.live.presentation.cutting import PAGE_BYTES
from streamviz.live.presentation.figures import byte_size, plural
from streamviz.live.presentation.text import printable
from streamviz.records.models import Stream

_MOST = 40
# The room for the differences on a page, in bytes.
_ROOM = PAGE_BYTES // 3


class Difference(NamedTuple):
    """A part in which the requests differ: its name, and the words of both."""

    name: str
    a: Sequence[Piece]
    b: Sequence[Piece]


class Requests(NamedTuple):
    """Where two requests differ, and how much of them is equal."""

    differences: list[Difference]
    more: bool
    equal: str


def requests_of(a: Stream, b: Stream) -> Requests:
    """The requests of two streams of the record."""
    one, other = _outline(a), _outline(b)
    if one is None or other is None:
        return Requests([], False, "in a format that is not known here")
    differing = ((name, printable(x), printable(y)) for name, x, y in _texts(a, b, one, other) if x != y)
    found = list(islice(differing, _MOST + 1))
    shown = found[:_MOST]
    pieces = beside_each_other([(x, y) for _, x, y in shown], _ROOM)
    differences = [Difference(name, *each) for (name, _, _), each in zip(shown, pieces, strict=True)]
    same = sum(1 for x, y in zip(one.turns, other.turns, strict=False) if x == y)
    size = sum(len(x) for x, y in zip(one.turns, other.turns, strict=False) if x == y)
    equal = f"{plural(same, 'message')} equal, {byte_size(size)}" if same else "no messages in common"
    return Requests(differences, len(found) > _MOST, equal)


def _outline(stream: Stream) -> RequestOutline | None:
    """The request's outline; None if its format is not known here: of a newer version, or of a call passed through."""
    known = WIRE_FORMATS.get(stream.wire_format)
    return None if known is None else outline_of(bytes(stream.request), known)


def _texts(a: Stream, b: Stream, one: RequestOutline, other: RequestOutline) -> Iterator[tuple[str, str, str]]:
    yield "system prompt", system_of(one), system_of(other)
    yield "tools", "\n".join(tools_of(one)), "\n".join(tools_of(other))
    for at, (x, y) in enumerate(zip_longest(one.turns[one.system_turns :], other.turns[other.system_turns :])):
        if x != y:
            yield f"{one.wire_format.turns}[{at}]", _said(x, one), _said(y, other)
    of_a, of_b = _parameters(a, one), _parameters(b, other)
    for name in sorted(of_a.keys() | of_b.keys()):
        yield name, _value(of_a, name), _value(of_b, name)


def _value(parameters: JsonObject, name: str) -> str:
    return encode(parameters[name]).decode("utf-8", "replace") if name in parameters else ""


def _said(turn: bytes | None, outline: RequestOutline) -> str:
    parts = parts_of(turn, outline.wire_format) if turn else []
    return "\n".join(f"{part.role} {part.name}\n{part.text}" for part in parts)


def _parameters(stream: Stream, outline: RequestOutline) -> JsonObject:
    """What else a request says: its fields except the conversation, the system prompt and the tools."""
    told = (outline.wire_format.turns, outline.wire_format.system, "system_instruction", "tools", "functions")
    fields = object_in(bytes(stream.request))
    return {name: value for name, value in fields.items() if name not in told}
