"""Fragments of the Live page: rows, which are painted in parts, and the groups that they stand in."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from django.utils.safestring import SafeString

from streamviz.live import row_markup
from streamviz.live.entries import Entry
from streamviz.live.pace import Pace, paced
from streamviz.live.presentation.rows import RowText, RowView
from streamviz.live.rendering import fragment

_Shown = TypeVar("_Shown")


class Part(NamedTuple, Generic[_Shown]):
    """A part of a row: what it shows, and how that is painted. It is painted again only when it shows another thing."""

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


def as_update(part: str) -> str:
    """A part of the page as an update of what the page has: its first element has an id."""
    return part.replace(' id="', ' hx-swap-oob="true" id="', 1)


def row(entry: Entry) -> SafeString:
    """A whole row of the Live page."""
    # The parts were made by the functions above, here or in another worker, and are escaped.
    parts = {name: SafeString(part) for name, part in entry.parts.items()}
    return fragment("_asks_row" if entry.group == "asks" else "_row", entry=entry, parts=parts)


def group_count(name: str, number: int, most: int) -> str:
    """How many rows a group of the Live page has, as an update; the page has no more than `most` of them."""
    count = fragment("_group_count", name=name, number=number, oob=True)
    return count + fragment("_group_more", name=name, more=max(0, number - most), oob=True)


class Group(NamedTuple):
    """The first rows of a group of the Live page, and how many there are in all."""

    name: str
    entries: Sequence[Entry]
    number: int


async def wall(groups: Sequence[Group], pace: Pace, *, is_filtered: bool, oob: bool = False) -> SafeString:
    """The Live page's list: each group's title with its rows."""
    rendered = [
        {
            "name": group.name,
            "title": GROUP_TITLES[group.name],
            "rows": await paced((row(entry) for entry in group.entries), pace),
            "number": group.number,
            "more": group.number - len(group.entries),
        }
        for group in groups
    ]
    return fragment("_wall", groups=rendered, is_filtered=is_filtered, oob=oob)


GROUP_TITLES = {
    "asks": "Needs you",
    "held": "Held",
    "stalled": "Stalled",
    "running": "Running",
    "finished": "Just finished",
    "recent": "Recent",
}
