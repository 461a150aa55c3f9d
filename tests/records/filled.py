"""Entries with a distinct value in every field, made from their types: a new field needs no change here."""

from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from streamviz.records.columns import MOMENT
from tests.records.support import NOON

EntryT = TypeVar("EntryT", bound=msgspec.Struct)
# The length of the shortest text column.
SHORTEST = 10


def filled(entry: type[EntryT], **given: object) -> EntryT:
    """An entry with these fields, and distinct values for all others."""
    hints = get_type_hints(entry, include_extras=True)
    others = [name for name in entry.__struct_fields__ if name not in given]
    return entry(**given, **{name: _value(name, n, hints[name]) for n, name in enumerate(others, 1)})


def plain(value: object) -> object:
    """A stored value, or one from the database, in a comparable form."""
    match value:
        case Jsonb():
            return msgspec.json.decode(msgspec.json.encode(value.obj))
        case memoryview():
            return bytes(value)
        case [int(), *_]:
            return f"{{{','.join(map(str, value))}}}"  # as numbers are passed to Postgres
        case _:
            return value


def _value(name: str, number: int, hint: Any) -> object:
    if get_origin(hint) in (Union, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is Annotated:
        base, *said = get_args(hint)
        return NOON + number if MOMENT in said else _value(name, number, base)
    values: dict[Any, object] = {
        str: name[:SHORTEST],
        bytes: msgspec.json.encode({name: number}),
        int: number,
        bool: True,
        float: number + 0.5,
        dict[str, object]: {name: [number]},
        dict[str, str]: {name: str(number)},
        list[dict[str, object]]: [{name: number}],
        list[tuple[int, int]]: [(NOON, NOON + number)],
        tuple[str, ...]: (name, str(number)),
        list[int]: [number, -number],
        UUID: UUID(int=number),
    }
    return values[hint]
