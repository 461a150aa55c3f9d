"""The parts in which a row of the Live page is rendered."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from streamviz.live import row_markup
from streamviz.live.presentation.rows import RowText, RowView
from streamviz.live.rendering import fragment

_Shown = TypeVar("_Shown")


class Part(NamedTuple, Generic[_Shown]):
    """A part of a row: what it shows, and how to render that. It is rendered again only when what it shows changes."""

    shows: Callable[[_Shown], object]
    paint: Callable[[_Shown], str]


def _by_template(name: str) -> Callable[[RowView], str]:
    return lambda row: fragment(f"_row_{name}", row=row)


def _asks(row: RowView) -> str:
    return fragment("_row_asks", row=row) if row.asks else ""


def _calls(row: RowView) -> str:
    return fragment("_row_calls", row=row) if row.stream.executor else ""


ROW_PARTS: dict[str, Part[RowView]] = {
    "asks": Part(lambda row: [ask._replace(seconds=0, left="") for ask in row.asks], _asks),
    "who": Part(lambda row: row.state, _by_template("who")),
    "strip": Part(lambda row: row.strip, row_markup.blocks),
    "rate": Part(lambda row: row.stream.is_running and row.now // 1_000_000, row_markup.rate),
    "age": Part(lambda row: row.stream.is_running, row_markup.age),
    "verdicts": Part(lambda row: ([badge._replace(age="") for badge in row.badges], row.why), _by_template("verdicts")),
    "calls": Part(lambda row: (row.stream.call_count, row.stream.calls), _calls),
}
# These change with almost every chunk.
TEXT_PARTS: dict[str, Part[RowText]] = {
    "tail": Part(lambda text: text.tail, row_markup.tail),
    "last": Part(lambda text: (text.last.since_ms, text.is_running), row_markup.last),
}
_ASKING_PARTS = ("who", "asks")
_OTHER_PARTS = tuple(name for name in (*ROW_PARTS, *TEXT_PARTS) if name != "asks")


def parts_of(group: str) -> tuple[str, ...]:
    """The parts that a row of this group has on the page."""
    return _ASKING_PARTS if group == "asks" else _OTHER_PARTS
