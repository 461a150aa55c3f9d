"""The columns that an entry of the journal fills: a field's type says how it is kept.

The types below name the conversions to SQL and to and from a line of an export, and the column if its name differs from
the field's. For any other type, text is kept as far as Postgres can store it, everything else as it is. None is NULL.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any, TypeVar, get_args, get_type_hints
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from streamviz.core.json_value import decode, encode
from streamviz.records.moments import as_datetime, as_microseconds

EntryT = TypeVar("EntryT", bound=msgspec.Struct)

# Names are in indexes, whose rows take at most 2,704 bytes: this many characters always fit.
LONGEST_NAME = 500
# Of a provider's name, and of a path: calls that pass through may have long ones.
_LONGEST_SHORT_NAME = 100
_MOST_INT = 2**31 - 1
# Far more than any stream comes to, and little enough that Postgres can add up those of all streams.
_MOST_TOKENS = 10**12
_MOST_MICROSECONDS = 10**12
_MOST_COST = 10**6


def clean(text: str) -> str:
    """Text that Postgres can store: U+FFFD for NUL, a question mark for each surrogate."""
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return whole.replace("\x00", "\ufffd")


def clean_name(text: str, most: int = LONGEST_NAME) -> str:
    """The same, cut to `most` characters."""
    return clean(text if len(text) <= most else f"{text[: most - 1]}…")


def clean_json(value: object) -> object:
    """A JSON value whose text Postgres can store."""
    match value:
        case str():
            return clean(value)
        case list():
            return [clean_json(item) for item in value]
        case dict():
            return {clean(str(key)): clean_json(item) for key, item in value.items()}
        case _:
            return value


def bytes_to_line(value: bytes | memoryview) -> str | dict[str, str]:
    """Bytes as JSON: text if they are UTF-8, otherwise base64."""
    raw = bytes(value)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(raw).decode()}


def bytes_from_line(value: str | dict[str, str]) -> bytes:
    """Raises binascii.Error, a ValueError, for invalid base64."""
    return value.encode() if isinstance(value, str) else b64decode(value["base64"], validate=True)


def as_array(values: Iterable[int | UUID]) -> str:
    """An array in Postgres' own notation; psycopg would inspect the type of each value."""
    return f"{{{','.join(map(str, values))}}}"


def _within(number: int, most: int) -> int | None:
    """A reported number, or None if it is negative or more than `most`."""
    return number if 0 <= number <= most else None


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How a field is kept. `column` is empty if it has the field's name. `is_exported` says that the value means the
    same in other installations and is not derived from exported ones. `is_content` says that a model, a user or a
    provider wrote it, so that it is dropped if only a stream's shape is kept."""

    to_sql: Callable[[Any], object] = _as_it_is
    to_line: Callable[[Any], object] = _as_it_is
    from_line: Callable[[Any], object] = _as_it_is
    column: str = ""
    is_exported: bool = True
    is_content: bool = False

    @property
    def from_sql(self) -> Sequence[Callable[[Any], object]]:
        """The conversions from Postgres' value back to the field's, by way of an export's line."""
        return [step for step in (self.to_line, self.from_line) if step is not _as_it_is]


TEXT = Kept(to_sql=clean)
MOMENT = Kept(to_sql=as_datetime, to_line=as_microseconds)
JSON = Kept(to_sql=lambda value: Jsonb(clean_json(value), encode))
# µs that something took.
DURATION = Kept(to_sql=lambda duration: min(max(duration, 0), _MOST_MICROSECONDS))

Texts = Annotated[tuple[str, ...], Kept(to_sql=lambda texts: [clean(text) for text in texts], from_line=tuple)]
# Indexed texts.
Name = Annotated[str, Kept(to_sql=clean_name)]
ShortName = Annotated[str, Kept(to_sql=partial(clean_name, most=_LONGEST_SHORT_NAME))]
# Numbers that a provider reports.
Tokens = Annotated[int, Kept(to_sql=partial(_within, most=_MOST_TOKENS))]
Index = Annotated[int, Kept(to_sql=partial(_within, most=_MOST_INT))]
Choice = Annotated[int, Kept(to_sql=lambda number: _within(number, _MOST_INT) or 0)]
Cost = Annotated[float, Kept(to_sql=lambda cost: cost if 0 <= cost < _MOST_COST else None, to_line=float)]
# µs since the epoch.
Moment = Annotated[int, MOMENT]
Numbers = Annotated[list[int], Kept(to_sql=as_array)]
# Written by others.
Content = Annotated[str, replace(TEXT, is_content=True)]
RawContent = Annotated[bytes, Kept(to_line=bytes_to_line, from_line=bytes_from_line, is_content=True)]
JsonContent = Annotated[dict[str, object], replace(JSON, is_content=True)]
JsonObjects = Annotated[list[dict[str, object]], JSON]
TextsByName = Annotated[dict[str, str], replace(JSON, is_content=True)]
Spans = Annotated[list[tuple[int, int]], replace(JSON, from_line=lambda spans: [*map(tuple, spans)])]
JsonText = Annotated[bytes, Kept(to_sql=lambda text: Jsonb(clean_json(decode(text)), encode), from_line=encode)]
# Not exported as they are, because other installations have other ids.
Id = Annotated[int, Kept(is_exported=False)]
SessionId = Annotated[UUID, Kept(is_exported=False)]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, the field of the entry that fills it, and how the value is kept."""

    name: str
    field: str
    kept: Kept

    def sql(self, entry: object) -> object:
        """The column's value for an entry."""
        value = getattr(entry, self.field)
        return None if value is None else self.kept.to_sql(value)

    def to_line(self, row: object) -> object:
        """The value of a row in a line of an export."""
        value = getattr(row, self.name)
        return None if value is None else self.kept.to_line(value)

    def from_line(self, line: Mapping[str, Any]) -> object:
        """The field's value from a line that has it. For a damaged line it raises whatever the conversion raises."""
        value = line[self.name]
        return None if value is None else self.kept.from_line(value)


def columns_of(entry: type[msgspec.Struct], *others: str) -> tuple[Column, ...]:
    """The columns that these entries fill, in the order of their fields, except the `others`."""
    hints = get_type_hints(entry, include_extras=True)
    kept = {name: _kept(hints[name]) for name in entry.__struct_fields__ if name not in others}
    return tuple(Column(each.column or name, name, each) for name, each in kept.items())


def without_content(entry: EntryT) -> EntryT:
    """The entry with its content fields emptied."""
    told = ((name, getattr(entry, name)) for name in _content_of(type(entry)))
    return msgspec.structs.replace(entry, **{name: type(value)() for name, value in told if value is not None})


@cache
def _content_of(entry: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(column.field for column in columns_of(entry) if column.kept.is_content)


def _kept(hint: Any) -> Kept:
    """What a type says about keeping, alone or in a union with None."""
    types = (hint, *get_args(hint))
    told = [said for each in types for said in getattr(each, "__metadata__", ()) if isinstance(said, Kept)]
    return told[0] if told else TEXT if str in types else Kept()
