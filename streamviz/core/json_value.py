"""Reading JSON from outside: each function returns the value if it has the type, or else an empty one."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, compress, repeat
from math import isfinite
from operator import is_, is_not, not_, or_
from typing import NamedTuple, NoReturn, TypeGuard, TypeVar, cast

import msgspec

JsonObject = dict[str, object]
T = TypeVar("T")

MAX_DEPTH = 200
_LONGEST_INTEGER = 20
# How many bytes are looked at in one go: other threads wait meanwhile.
_SLICE = 2**16
# Opening brackets become 1, closing ones -1; nothing else is left.
_STEPS = bytes(1 if byte in b"[{" else 0xFF for byte in range(256))
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
# Requests of real clients are rarely nested deeper.
_ROUNDS = 8

# How a member's name ends in compact JSON, as texts may, too; and what else either may have there.
_NAME_ENDS = b'":'
_OTHER_NAME_ENDS = re.compile(rb'"[ \t\n\r]+:|\\u0022|\\u003[aA]')
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")

_decode = msgspec.json.Decoder(object).decode
_encode = msgspec.json.Encoder().encode


def decode(data: bytes | str) -> object:
    """The JSON value in `data`. Raises ValueError if it is not JSON, or is nested deeper than MAX_DEPTH.

    What only lenient clients accept is read, too, or it would reach them unjudged: lone surrogates and bytes that are
    not UTF-8 are replaced by a placeholder, NaN and numbers that do not fit into a double become null.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    try:
        value = _decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        value = _decode_leniently(data.decode("utf-8", "replace"))
    require_shallow(data)
    return value


def value_in(data: bytes | str | None) -> object:
    """The JSON value in `data`, as `decode` reads it; None if there is none."""
    try:
        return decode(data) if data else None
    except ValueError:
        return None


def object_in(data: bytes | str | None) -> JsonObject:
    """The JSON object in `data`; an empty one if it is cut off or is anything else."""
    try:
        return as_object(decode(data)) if data else {}
    except ValueError:
        return {}


class Decoded(NamedTuple):
    """A JSON value as `decode` reads it; whether all clients accept it, and whether it is JSON to the letter."""

    value: object
    is_for_all: bool
    is_strict: bool


def decode_for_all(data: bytes) -> Decoded:
    """Decode for clients of all kinds. Some skip JSON with a control character in a text, NaN, a number that no double
    holds, or a name by which JavaScript would change all objects. Of half a surrogate pair, and of bytes that are not
    UTF-8, each makes something else."""
    try:
        value = _decode(data)
    except (ValueError, RecursionError):
        return Decoded(decode(data), _is_for_all(data), False)
    require_shallow(data)
    return Decoded(value, not _has_odd_name(data) or _is_for_all(data), True)


def has_name_twice(data: bytes, value: object) -> bool:
    """Whether an object in this JSON, which was decoded as `value`, has two members of one name. Clients take the last,
    the first or both together, or skip it all."""
    encoded = _encode(value)
    if data == encoded:
        return False
    is_alike = data.count(_NAME_ENDS) == encoded.count(_NAME_ENDS)
    if is_alike and not _OTHER_NAME_ENDS.search(data):
        return False
    try:
        json.loads(data, strict=False, object_pairs_hook=_once)
    except ValueError:
        return True
    return False


def _once(members: list[tuple[str, object]]) -> None:
    if len(dict(members)) < len(members):
        raise ValueError("a name appears twice")


def _is_for_all(data: bytes) -> bool:
    try:
        _decode_as_all(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _has_odd_name(data: bytes) -> bool:
    """Whether there may be such a name, plain or with an escaped letter."""
    return b"proto" in data or (b"\\u00" in data and _ESCAPED_LETTER.search(data) is not None)


def _decode_as_all(text: str) -> object:
    return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_plain_object)


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _plain_object(members: list[tuple[str, object]]) -> JsonObject:
    found = dict(members)
    if "__proto__" in found or "prototype" in as_object(found.get("constructor")):
        raise ValueError("a name that changes all objects")
    return found


def decode_strictly(text: str) -> object:
    """The JSON value in `text`. Raises ValueError if it is not JSON to the letter of RFC 8259, or is nested deeper than
    MAX_DEPTH."""
    try:
        value = _decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    require_shallow(text.encode())
    return value


def has_more_values(data: bytes, most: int) -> bool:
    """Whether JSON has more than `most` values, by its commas and brackets, before time is spent on decoding it."""
    if len(data) <= most or sum(map(data.count, (b",", b"[", b"{"))) <= most:  # including those in texts
        return False
    marks = 0
    for outside, quotes in _outside_texts(data):
        marks += sum(map(outside.count, (b",", b"[", b"{")))
        if marks > most or quotes > 4 * most:  # names and texts
            return True
    return False


class Level(NamedTuple):
    """All that is equally deep in a JSON value, by its type; `numbers` are integers and others."""

    texts: list[str]
    objects: list[JsonObject]
    numbers: list[int | float]


def levels(value: object, unread: frozenset[str] = frozenset()) -> Iterator[Level]:
    """The levels of a JSON value, from the outside in, without texts of members in `unread`. There may be hundreds of
    thousands of values, so no line of code is run for each."""
    level = [value]
    while level:
        kinds = _Kinds(level)
        objects = kinds.of(dict)
        yield Level(kinds.of(str), objects, [*kinds.of(int), *kinds.of(float)])
        level = [*chain.from_iterable(kinds.of(list)), *_values(objects, unread)]


class _Kinds:
    """The values of a level by their types."""

    def __init__(self, level: list[object]) -> None:
        self._level = level
        self._types = list(map(type, level))
        self._different = set(self._types)

    def of(self, kind: type[T]) -> list[T]:
        """The values of exactly this type: decoded JSON has no subclasses."""
        values = cast(list[T], self._level)
        if kind not in self._different:
            return []
        return values if len(self._different) == 1 else list(compress(values, map(is_, self._types, repeat(kind))))


def _values(objects: list[JsonObject], unread: frozenset[str]) -> Iterable[object]:
    values = list(chain.from_iterable(map(dict.values, objects)))
    if not unread:
        return values
    are_named_else = map(not_, map(unread.__contains__, chain.from_iterable(objects)))
    return compress(values, map(or_, are_named_else, map(is_not, map(type, values), repeat(str))))


def _decode_leniently(text: str) -> object:
    try:
        value = json.loads(
            text.removeprefix("\ufeff"), strict=False, parse_constant=_number, parse_float=_number, parse_int=_number
        )
        return _decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _number(text: str) -> int | float | None:
    if len(text) < _LONGEST_INTEGER and text.lstrip("-").isdigit():
        return int(text)
    number = float(text)
    return number if isfinite(number) else None


def require_shallow(data: bytes) -> None:
    """Raises ValueError if JSON is nested too deeply."""
    if is_too_deep(data):
        raise ValueError("nested too deeply")


def is_too_deep(data: bytes) -> bool:
    """Whether JSON is nested deeper than MAX_DEPTH. This is found from the text: looking at each value would take
    longer than decoding did."""
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return False
    brackets = b"".join(outside.translate(None, _NO_BRACKETS) for outside, _ in _outside_texts(data))
    if _is_soon_flat(brackets):
        return False
    steps = memoryview(brackets.translate(_STEPS)).cast("b")
    return max(accumulate(steps), default=0) > MAX_DEPTH


def _is_soon_flat(brackets: bytes) -> bool:
    """Whether too few brackets are left to be nested too deeply after removing the innermost ones several times: most
    values are wide, and each look at all brackets holds up every other thread."""
    for removed in range(2, 2 * _ROUNDS + 1, 2):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")  # each removes one level at most
        if removed + len(brackets) // 2 <= MAX_DEPTH:
            return True
    return False


def _outside_texts(data: bytes) -> Iterator[tuple[bytes, int]]:
    """JSON without its texts and names, slice by slice, each with the number of quotes up to its end."""
    # Each quote that is left begins a text or ends one.
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    quotes = 0
    for at in range(0, len(bare), _SLICE):
        pieces = bare[at : at + _SLICE].split(b'"')
        outside = b"".join(pieces[quotes % 2 :: 2])
        quotes += len(pieces) - 1
        yield outside, quotes


def encode(value: object) -> bytes:
    """Compact JSON."""
    return _encode(value)


def as_object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_index(value: object) -> int | None:
    """A whole number from 0 to below 10^9, even if written as a string; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value < 10**9 else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return None


def index_of(member: JsonObject, position: int) -> int:
    """The index that a member of a list gives itself, or its position if it gives none."""
    index = as_index(member.get("index"))
    return position if index is None else index


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a JSON number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_json_text(value: object) -> str:
    """Text as it is; any other value but null as compact JSON (some providers send arguments as an object)."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value).decode()


def objects(value: object) -> list[JsonObject]:
    """The objects of a list; anything else in it is skipped. A lone object counts as a list of one."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return [value] if isinstance(value, dict) else []
