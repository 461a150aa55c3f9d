"""The tables of the record that entries of the journal are stored in: statements, rows and lines of exports, all made
from the columns that the entries name."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db import connection, models
from psycopg.sql import Literal

from streamviz.records.columns import MOMENT, TEXT, Column, Kept, columns_of
from streamviz.records.models import Block, Session, Stream, Verdict
from streamviz.records.recorder import BlockRecord, StreamClosed, StreamOpened, VerdictRecord

Row = tuple[object, ...]


@dataclass(frozen=True)
class Table:
    """A model, the columns of it that one kind of entry fills, and those whose values are told beside the entry."""

    model: type[models.Model]
    columns: tuple[Column, ...]
    beside: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are filled, in the order of a row."""
        return (*self.beside, *(column.name for column in self.columns))

    def row(self, entry: object, *beside: object) -> Row:
        """An entry's values, behind those that it does not tell itself."""
        return (*beside, *(column.sql(entry) for column in self.columns))

    def values(self, entry: object) -> dict[str, object]:
        """The same by column, except for what comes beside the entry."""
        return {column.name: column.sql(entry) for column in self.columns}

    def insert(self) -> str:
        """The statement for rows. A column that they do not fill gets the model's default, where it cannot be NULL."""
        others = self._defaults()
        values = ", ".join([*["%s"] * len(self.names), *others.values()])
        return f"INSERT INTO {self.model._meta.db_table} ({', '.join((*self.names, *others))}) VALUES ({values})"  # noqa: S608

    def update(self, greatest: Collection[str]) -> str:
        """The statement for rows, each with the id behind it. Of the columns `greatest` the greater value is kept."""
        sets = (f"{name} = greatest({name}, %s)" if name in greatest else f"{name} = %s" for name in self.names)
        return f"UPDATE {self.model._meta.db_table} SET {', '.join(sets)} WHERE id = %s"  # noqa: S608

    def reader(self, *others: str) -> Callable[[models.Model], dict[str, Any]]:
        """What gives an entry's fields as a row has them, but for the `others`."""
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
        """What an export says of a row."""
        return {column.name: column.to_line(row) for column in self.columns if column.kept.is_exported}

    def fields(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """An entry's fields, as far as a line of an export has them."""
        told = (column for column in self.columns if column.kept.is_exported and column.name in line)
        return {column.field: column.from_line(line) for column in told}

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
    ),
)
OPENED = Table(Stream, columns_of(StreamOpened, "stream_id", "session_label", "session_name"), ("id", "worker"))
CLOSED = Table(Stream, columns_of(StreamClosed, "stream_id"))
BLOCK = Table(Block, columns_of(BlockRecord), ("stream_id",))
VERDICT = Table(Verdict, columns_of(VerdictRecord), ("stream_id",))
