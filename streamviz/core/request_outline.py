"""A stored request, cut into its turns without reading them, and what was new in it beside the one before.

Requests repeat all that was said before, a megabyte and more of it. So turns are compared by their bytes; read are only
those that differ.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import NamedTuple, Protocol, cast

import msgspec

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, value_in
from streamviz.core.request_parts import ANSWERING, STANDING, Part, PartKind, system_in, tools_in
from streamviz.core.wire_format import WireFormat

# Clients mark what is to be kept in a provider's cache, and move the mark from turn to turn.
_MARKS = ("cache_control", "id", "status")


class RequestOutline(NamedTuple):
    """A request's turns, the words over them and the tools it offers: JSON as it is, b"" where it has none.

    `is_odd`: it is no request of its format. `goes_on`: it names what it goes on from instead of repeating it.
    `standing`: how many turns in front are words over the conversation.
    """

    wire_format: WireFormat
    turns: Sequence[bytes] = ()
    system: bytes = b""
    tools: bytes = b""
    size: int = 0
    is_odd: bool = False
    goes_on: bool = False
    standing: int = 0


class New(NamedTuple):
    """What a request adds to the one before: its turns from `first` on without the answer to that, which are `answered`
    many. `unlike` is how many turns of the one before it does not repeat."""

    first: int
    answered: int = 0
    unlike: int = 0


def outline_of(body: bytes, wire_format: WireFormat) -> RequestOutline:
    """The outline of a request of this format, whatever it is."""
    try:
        found = _reader(wire_format.turns, wire_format.system)(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return RequestOutline(wire_format, size=len(body), is_odd=True)
    turns = found.turns
    items = [msgspec.json.encode(turns)] if isinstance(turns, str) else [bytes(each) for each in turns or ()]
    goes_on = any(_is_given(each) for each in (found.previous_response_id, found.conversation))
    told = (bytes(found.system or found.system_instruction), bytes(found.tools or found.functions))
    standing = sum(1 for _ in takewhile(_is_standing, items))
    return RequestOutline(wire_format, items, *told, len(body), goes_on=goes_on, standing=standing)


class _Fields(Protocol):
    """Of a request's fields those that are cut out; all others are passed over."""

    turns: list[msgspec.Raw] | str | None
    system: msgspec.Raw
    system_instruction: msgspec.Raw
    tools: msgspec.Raw
    functions: msgspec.Raw
    previous_response_id: msgspec.Raw
    conversation: msgspec.Raw


_BESIDE = ("system_instruction", "tools", "functions", "previous_response_id", "conversation")


@cache
def _reader(turns: str, system: str) -> Callable[[bytes], _Fields]:
    """One for requests that have their turns, and what stands over them, in fields of these names."""
    raw = msgspec.Raw()
    fields = [
        ("turns", list[msgspec.Raw] | str | None, msgspec.field(name=turns, default=None)),
        ("system", msgspec.Raw, msgspec.field(name=system or "-", default=raw)),
        *((name, msgspec.Raw, raw) for name in _BESIDE),
    ]
    return cast(Callable[[bytes], _Fields], msgspec.json.Decoder(msgspec.defstruct("_Request", fields)).decode)


def new_in(outline: RequestOutline, before: RequestOutline | None) -> New:
    """What of a request was not in the one that it goes on from."""
    if before is None or (outline.goes_on and not before.goes_on):
        return New(outline.standing)
    same = sum(1 for _ in takewhile(lambda pair: _are_same(*pair), zip(outline.turns, before.turns, strict=False)))
    first = max(same, outline.standing)
    if outline.goes_on:
        return New(first)
    answered = sum(1 for _ in takewhile(_is_answer, outline.turns[first:])) if same else 0
    return New(first, answered, max(0, len(before.turns) - max(same, before.standing)))


def asked_since(outline: RequestOutline) -> list[bytes]:
    """The turns behind the model's last words; all that are no words over the conversation where it said nothing."""
    turns = outline.turns[outline.standing :]
    return list(takewhile(lambda turn: not _is_answer(turn), reversed(turns)))[::-1]


def parts_of(turn: bytes, wire_format: WireFormat) -> list[Part]:
    """What one turn says; one that cannot be read is a part as it is."""
    value = value_in(turn)
    if isinstance(value, str):
        return [Part(PartKind.TEXT, "user", value, size=len(turn) - 2)]
    if not isinstance(value, dict):
        return [Part(PartKind.OTHER, "", turn.decode("utf-8", "replace"), size=len(turn))]
    return list(wire_format.parts_of(value)) or [_empty(value, turn)]


def system_of(outline: RequestOutline) -> str:
    """The words over a conversation, wherever its format has them."""
    read = outline.wire_format.parts_of
    texts = [system_in(value_in(outline.system), read)] if outline.system else []
    standing = outline.turns[: outline.standing]
    texts += [part.text for turn in standing for part in parts_of(turn, outline.wire_format)]
    return "\n\n".join(text for text in texts if text)


def tools_of(outline: RequestOutline) -> dict[str, bytes]:
    """The tools that a request offers, each with its schema."""
    return {name: msgspec.json.encode(tool) for name, tool in tools_in(value_in(outline.tools))}


def _empty(value: JsonObject, turn: bytes) -> Part:
    role = as_text(value.get("role"))
    return Part(PartKind.OTHER, role, turn.decode("utf-8", "replace"), "nothing said", size=len(turn))


def _is_given(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in (b"", b"null", b'""')


def _are_same(one: bytes, other: bytes) -> bool:
    return one == other or (_may_be_same(one, other) and _normal(one) == _normal(other))


def _may_be_same(one: bytes, other: bytes) -> bool:
    """A mark takes little room: turns of very different length need not be read."""
    return abs(len(one) - len(other)) < 400 + len(one) // 4


def _normal(turn: bytes) -> object:
    """A turn without marks and with its content as a list, since clients write both."""
    value = value_in(turn)
    if not isinstance(value, dict):
        return turn
    plain = {name: each for name, each in value.items() if name not in _MARKS}
    plain.setdefault("type", "message")
    for name in ("content", "parts", "output"):
        if name in plain:
            plain[name] = list(_plain(plain[name]))
    return plain


def _plain(content: object) -> Iterator[object]:
    for part in [content] if isinstance(content, str | dict) else as_list(content):
        if isinstance(part, str):
            yield {"type": "text", "text": part}
        elif isinstance(part, dict):
            kept = {name: each for name, each in part.items() if name != "cache_control"}
            inner = kept.get("content")
            yield kept | ({"content": list(_plain(inner))} if isinstance(inner, str | list) else {})
        else:
            yield part


def _is_standing(turn: bytes) -> bool:
    return _role(turn) in STANDING


def _is_answer(turn: bytes) -> bool:
    """Whether it is of the model's: in OpenAI's responses what is no message and no result is."""
    value = as_object(value_in(turn))
    role, kind = as_text(value.get("role")), as_text(value.get("type"))
    return role in ANSWERING or (not role and kind not in ("", "message") and not kind.endswith("_output"))


def _role(turn: bytes) -> str:
    # What stands in front is read to its end only where it can be such.
    return as_text(as_object(value_in(turn)).get("role")) if b'"system"' in turn or b'"developer"' in turn else ""
