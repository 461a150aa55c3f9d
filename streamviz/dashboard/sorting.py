"""By which of its columns a table is sorted, as in a URL: `?sort=cost`, and `?sort=-cost` for the largest first."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from django.http import QueryDict

RowT = TypeVar("RowT")

# What a list that is sorted otherwise begins with anew.
_PLACES = ("before", "from", "after", "csv")


_MOST_DIGITS = 6


def place_in(text: str) -> int:
    """A URL's place in a sorted list; the first where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


class Head(NamedTuple):
    """A column's head: its words, where its link leads, and `aria-sort`, which is empty where others are sorted by."""

    words: str
    href: str
    sorted: str


class Sorting(NamedTuple):
    """The column that is sorted by, empty where a table is in its own order. `columns` says of those that can be
    sorted by whether their largest comes first, as with numbers and times."""

    columns: Mapping[str, bool]
    by: str
    is_descending: bool
    query: QueryDict
    parameter: str

    @classmethod
    def asked(cls, query: QueryDict, columns: Mapping[str, bool], parameter: str = "sort") -> "Sorting":
        """What a URL asks for; what is no column is the table's own order."""
        wanted = query.get(parameter, "")
        by = wanted.removeprefix("-")
        return cls(columns, by if by in columns else "", wanted.startswith("-"), query, parameter)

    @property
    def written(self) -> str:
        """The same in a URL; empty for a table's own order."""
        return f"{'-' if self.is_descending else ''}{self.by}" if self.by else ""

    def head(self, column: str, words: str) -> Head:
        """A column's head. Its link sorts by it, and the other way round where that is so already."""
        is_by = column == self.by
        descends = not self.is_descending if is_by else self.columns[column]
        query = self.query.copy()
        for place in _PLACES:
            query.pop(place, None)
        query[self.parameter] = f"{'-' if descends else ''}{column}"
        word = "descending" if self.is_descending else "ascending"
        return Head(words, f"?{query.urlencode()}", word if is_by else "")

    def of(self, rows: Iterable[RowT], values: Mapping[str, Callable[[RowT], Any]]) -> list[RowT]:
        """The rows in this order; those of which the value is unknown are last. `values` has one for each column."""
        found = list(rows)
        if not self.by:
            return found
        read = values[self.by]
        known = [row for row in found if read(row) is not None]
        unknown = [row for row in found if read(row) is None]
        return [*sorted(known, key=read, reverse=self.is_descending), *unknown]
