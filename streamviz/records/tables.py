"""The tables that journal entries are stored in: statements, rows and export lines, all derived from the columns that
the entries declare."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec
from django.db import connection, models
from psycopg.sql import Literal
from psycopg.types.json import Jsonb

from streamviz.records.block_record import BlockRecord
from streamviz.records.columns import MOMENT, TEXT, Column, Kept, columns_of
from streamviz.records.models import Block, Session, Stream, Verdict
from streamviz.records.recorder import StreamClosed, StreamOpened
from streamviz.records.verdict_record import VerdictRecord

Row = tuple[object, ...]

_BYTES = "bytea"


def _plain(value: object) -> object:
    """Encode a Jsonb, the only type here that msgspec does not know."""
    if isinstance(value, Jsonb):
        return value.obj
    raise TypeError(f"no column has {type(value).__name__}")


# Times and UUIDs become text, bytes base64.
_encode = msgspec.json.Encoder(enc_hook=_plain).encode


@dataclass(frozen=True)
class Table:
    """A model, the columns of it that one kind of entry fills, and those whose values are given separately
    (`beside`)."""

    model: type[models.Model]
    columns: tuple[Column, ...]
    beside: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are filled, in the order of a row."""
        return (*self.beside, *(column.name for column in self.columns))

    def row(self, entry: object, *beside: object) -> Row:
        """An entry's values, after those given separately."""
        return (*beside, *(column.sql(entry) for column in self.columns))

    def told(self, rows: Iterable[Row]) -> str:
        """Rows as statements take them: all in one parameter, as passing each column of each row takes long."""
        return _encode([dict(zip(self.names, row, strict=True)) for row in rows]).decode()

    def values(self, entry: object) -> dict[str, object]:
        """An entry's values by column, without those given separately."""
        return {column.name: column.sql(entry) for column in self.columns}

    def insert(self) -> str:
        """The statement that inserts any number of rows, as `told` encodes them, no two with the same key. A column
        that they do not fill gets the model's default, unless it can be NULL."""
        others = self._defaults()
        columns, values = ", ".join((*self.names, *others)), ", ".join((*self._values(), *others.values()))
        return f"INSERT INTO {self.model._meta.db_table} ({columns}) SELECT {values} FROM {self._source()}"  # noqa: S608

    def replacing(self, but: Collection[str]) -> str:
        """For ON CONFLICT: what sets the columns of the entry to its values, except these."""
        names = (column.name for column in self.columns if column.name not in but)
        return ", ".join(f"{name} = excluded.{name}" for name in names)

    def update(self, greatest: Collection[str]) -> str:
        """The statement that updates existing rows, encoded with their `id`. It takes the ids again as a second
        parameter, to tell Postgres which partitions it is about. Columns in `greatest` keep the greater value."""
        told = zip(self.names, self._values(), strict=True)
        sets = (
            f"{name} = greatest(stored.{name}, {value})" if name in greatest else f"{name} = {value}"
            for name, value in told
            if name != "id"
        )
        table = self.model._meta.db_table
        where = "stored.id = told.id AND stored.id = ANY(%s)"
        return f"UPDATE {table} AS stored SET {', '.join(sets)} FROM {self._source()} WHERE {where}"  # noqa: S608

    def reader(self, *others: str) -> Callable[[models.Model], dict[str, Any]]:
        """A function that gives an entry's fields from a row, except the `others`."""
        columns = [column for column in self.columns if column.field not in others]
        fields, values = [column.field for column in columns], attrgetter(*(column.name for column in columns))
        steps = [(column.field, step) for column in columns for step in column.kept.from_sql]

        def read(row: models.Model) -> dict[str, Any]:
            told = dict(zip(fields, values(row), strict=True))
            for field, step in steps:
                if told[field] is not None:
                    told[field] = step(told[field])
            return told

        return read

    def line(self, row: models.Model) -> dict[str, Any]:
        """A row as a line of an export."""
        return {column.name: column.to_line(row) for column in self.columns if column.kept.is_exported}

    def fields(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """An entry's fields, as far as a line of an export has them."""
        told = (column for column in self.columns if column.kept.is_exported and column.name in line)
        return {column.field: column.from_line(line) for column in told}

    def _source(self) -> str:
        """The encoded rows as a table expression."""
        types = ((name, self._field(name).rel_db_type(connection)) for name in self.names)
        told = (f"{name} {'text' if type == _BYTES else type}" for name, type in types)
        return f"json_to_recordset(%s) AS told ({', '.join(told)})"

    def _values(self) -> Iterator[str]:
        for name in self.names:
            is_bytes = self._field(name).rel_db_type(connection) == _BYTES
            yield f"decode(told.{name}, 'base64')" if is_bytes else f"told.{name}"

    def _field(self, column: str) -> Any:
        return next(field for field in self.model._meta.concrete_fields if field.column == column)

    def _defaults(self) -> dict[str, str]:
        fields = (field for field in self.model._meta.concrete_fields if not (field.null or field.primary_key))
        return {
            field.column: Literal(field.get_db_prep_save(field.get_default(), connection)).as_string()
            for field in fields
            if field.column not in self.names
        }


SESSION = Table(
    Session,
    (
        Column("id", "session_id", Kept()),
        Column("label", "session_label", TEXT),
        Column("name", "session_name", TEXT),
        Column("key_id", "key_id", Kept()),
        Column("started_at", "requested_at", MOMENT),
        Column("last_at", "requested_at", MOMENT),
        Column("is_dated", "is_dated", Kept()),
    ),
)
OPENED = Table(Stream, columns_of(StreamOpened, "stream_id", "session_label", "session_name"), ("id", "worker"))
CLOSED = Table(Stream, columns_of(StreamClosed, "stream_id"), ("id",))
# Both at once; a column that both fill has the value of the end.
WHOLE = Table(Stream, tuple({each.name: each for each in (*OPENED.columns, *CLOSED.columns)}.values()), OPENED.beside)
BLOCK = Table(Block, columns_of(BlockRecord), ("stream_id",))
VERDICT = Table(Verdict, columns_of(VerdictRecord), ("stream_id",))
