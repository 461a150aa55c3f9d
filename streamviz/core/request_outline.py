"""A stored request, cut into its turns without decoding them, and what is new in it compared with the one before.

Requests repeat all that was said before, a megabyte and more of it. So turns are compared by their bytes, and only
those that differ are decoded.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import NamedTuple, Protocol, cast

import msgspec

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, value_in
from streamviz.core.request_parts import (
    ANSWERING,
    BETWEEN_AGENTS,
    SYSTEM_ROLES,
    Part,
    PartKind,
    system_in,
    tools_in,
)
from streamviz.core.wire_format import WireFormat

# Clients mark what a provider is to cache, and move the mark from turn to turn.
_MARKS = ("cache_control", "id", "status")
# How a text begins that streamviz adds to a client's last turn, and that the client does not repeat.
NOTICE = "[streamviz: your call of "


class RequestOutline(NamedTuple):
    """A request's turns, its system prompt and the tools it offers: JSON as it is, b"" if it has none.

    `is_odd` says that it is not a request of its format, `goes_on` that it names what it continues instead of repeating
    it. `system_turns` is how many turns in front are part of the system prompt.
    """

    wire_format: WireFormat
    turns: Sequence[bytes] = ()
    system: bytes = b""
    tools: bytes = b""
    size: int = 0
    is_odd: bool = False
    goes_on: bool = False
    system_turns: int = 0


class New(NamedTuple):
    """What a request adds to the one before: its turns from `first` on, except for the answer to that one, which is the
    first `answered` of them. `unlike` is how many turns of the one before it does not repeat."""

    first: int
    answered: int = 0
    unlike: int = 0


def outline_of(body: bytes, wire_format: WireFormat) -> RequestOutline:
    """The outline of a request of this format, which may be anything."""
    try:
        found = _reader(wire_format.turns, wire_format.system)(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return RequestOutline(wire_format, size=len(body), is_odd=True)
    turns = found.turns
    items = [msgspec.json.encode(turns)] if isinstance(turns, str) else [bytes(each) for each in turns or ()]
    goes_on = any(_is_given(each) for each in (found.previous_response_id, found.conversation))
    told = (bytes(found.system or found.system_instruction), bytes(found.tools or found.functions))
    system_turns = sum(1 for _ in takewhile(_is_system_turn, items))
    return RequestOutline(wire_format, items, *told, len(body), goes_on=goes_on, system_turns=system_turns)


class _Fields(Protocol):
    """The fields that are cut out of a request; all others are skipped."""

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
    """A decoder for requests that have their turns, and their system prompt, in fields of these names."""
    raw = msgspec.Raw()
    fields = [
        ("turns", list[msgspec.Raw] | str | None, msgspec.field(name=turns, default=None)),
        ("system", msgspec.Raw, msgspec.field(name=system or "-", default=raw)),
        *((name, msgspec.Raw, raw) for name in _BESIDE),
    ]
    return cast(Callable[[bytes], _Fields], msgspec.json.Decoder(msgspec.defstruct("_Request", fields)).decode)


def new_in(outline: RequestOutline, before: RequestOutline | None) -> New:
    """What is new in a request, compared with the one that it continues."""
    if before is None or (outline.goes_on and not before.goes_on):
        return New(outline.system_turns)
    same = sum(1 for _ in takewhile(lambda pair: _are_same(*pair), zip(outline.turns, before.turns, strict=False)))
    first = max(same, outline.system_turns)
    if outline.goes_on:
        return New(first)
    answered = sum(1 for _ in takewhile(_is_answer, outline.turns[first:])) if same else 0
    return New(first, answered, max(0, len(before.turns) - max(same, before.system_turns)))


def asked_since(outline: RequestOutline) -> list[bytes]:
    """The turns after the model's last answer; if it gave none, all except the system prompt."""
    turns = outline.turns[outline.system_turns :]
    return list(takewhile(lambda turn: not _is_answer(turn), reversed(turns)))[::-1]


def parts_of(turn: bytes, wire_format: WireFormat) -> list[Part]:
    """The parts of one turn; a turn that cannot be read is one part, as it is."""
    value = value_in(turn)
    if isinstance(value, str):
        return [Part(PartKind.TEXT, "user", value, size=len(turn) - 2)]
    if not isinstance(value, dict):
        return [Part(PartKind.OTHER, "", turn.decode("utf-8", "replace"), size=len(turn))]
    return list(wire_format.parts_of(value)) or [_empty(value, turn)]


def system_of(outline: RequestOutline) -> str:
    """The system prompt of a conversation, wherever its format has it."""
    read = outline.wire_format.parts_of
    texts = [system_in(value_in(outline.system), read)] if outline.system else []
    leading = outline.turns[: outline.system_turns]
    texts += [part.text for turn in leading for part in parts_of(turn, outline.wire_format)]
    return "\n\n".join(text for text in texts if text)


def tools_of(outline: RequestOutline) -> dict[str, bytes]:
    """The tools that a request offers, each with its schema."""
    return {name: msgspec.json.encode(tool) for name, tool in tools_in(value_in(outline.tools))}


def _empty(value: JsonObject, turn: bytes) -> Part:
    role = as_text(value.get("role"))
    return Part(PartKind.OTHER, role, turn.decode("utf-8", "replace"), "nothing said", size=len(turn))


def _is_given(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in (b"", b"null", b'""')


def _are_same(one: bytes, before: bytes) -> bool:
    return one == before or (_may_be_same(one, before) and _repeats(_normal(one), _normal(before)))


def _may_be_same(one: bytes, before: bytes) -> bool:
    """Whether two turns may differ only in marks, which are short, and in what we added: if not, they need not be
    decoded."""
    return abs(len(one) - len(before)) < 400 + len(one) // 4 or NOTICE.encode() in before


def _repeats(one: object, before: object) -> bool:
    """Whether a turn is that of an earlier request, with or without what we added there."""
    return one == before or one == _without_added(before)


def _without_added(turn: object) -> object:
    if not isinstance(turn, dict) or "content" not in turn:
        return turn
    return turn | {"content": [part for part in turn["content"] if not _is_added(part)]}


def _is_added(part: object) -> bool:
    return as_text(as_object(part).get("text")).startswith(NOTICE)


def _normal(turn: bytes) -> object:
    """A turn without marks and with its content as a list: clients write content either way."""
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


def _is_system_turn(turn: bytes) -> bool:
    return _role(turn) in SYSTEM_ROLES


def _is_answer(turn: bytes) -> bool:
    """Whether a turn is the model's: in OpenAI's responses, anything that is neither a message nor a result."""
    value = as_object(value_in(turn))
    role, kind = as_text(value.get("role")), as_text(value.get("type"))
    is_said = kind in ("", "message", BETWEEN_AGENTS) or kind.endswith("_output")
    return role in ANSWERING or not (role or is_said)


def _role(turn: bytes) -> str:
    # A turn is decoded only if it can be a system prompt.
    return as_text(as_object(value_in(turn)).get("role")) if b'"system"' in turn or b'"developer"' in turn else ""
