"""Sorting a table by the column that a URL names: `?sort=cost`, or `?sort=-cost` for the largest first."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from django.http import QueryDict

RowT = TypeVar("RowT")

# Parameters of a URL that go when the sorting changes: the list then starts at its beginning.
_PLACES = ("before", "from", "after", "csv")


_MOST_DIGITS = 6


def place_in(text: str) -> int:
    """A URL's offset into a sorted list; 0 if it is not a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


class Head(NamedTuple):
    """A column's header: its words, where its link leads, and `aria-sort`, empty unless the table is sorted by it."""

    words: str
    href: str
    sorted: str


class Sorting(NamedTuple):
    """The column to sort by, empty for a table's own order. `columns` are those that can be sorted by, each with
    whether its largest comes first, as with numbers and times."""

    columns: Mapping[str, bool]
    by: str
    is_descending: bool
    query: QueryDict
    parameter: str

    @classmethod
    def asked(cls, query: QueryDict, columns: Mapping[str, bool], parameter: str = "sort") -> "Sorting":
        """What a URL asks for; anything that is not a column means the table's own order."""
        wanted = query.get(parameter, "")
        by = wanted.removeprefix("-")
        return cls(columns, by if by in columns else "", wanted.startswith("-"), query, parameter)

    @property
    def written(self) -> str:
        """The same as it is in a URL; empty for a table's own order."""
        return f"{'-' if self.is_descending else ''}{self.by}" if self.by else ""

    def head(self, column: str, words: str) -> Head:
        """A column's header. Its link sorts by the column, or reverses the order if the table is sorted by it."""
        is_by = column == self.by
        descends = not self.is_descending if is_by else self.columns[column]
        query = self.query.copy()
        for place in _PLACES:
            query.pop(place, None)
        query[self.parameter] = f"{'-' if descends else ''}{column}"
        word = "descending" if self.is_descending else "ascending"
        return Head(words, f"?{query.urlencode()}", word if is_by else "")

    def of(self, rows: Iterable[RowT], values: Mapping[str, Callable[[RowT], Any]]) -> list[RowT]:
        """The rows in this order; those with an unknown value come last. `values` has a function for each column."""
        found = list(rows)
        if not self.by:
            return found
        read = values[self.by]
        known = [row for row in found if read(row) is not None]
        unknown = [row for row in found if read(row) is None]
        return [*sorted(known, key=read, reverse=self.is_descending), *unknown]
