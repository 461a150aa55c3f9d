"""Fragments of the Live page: whole rows, and the groups that they are in."""

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.safestring import SafeString

from streamviz.live.entries import Entry
from streamviz.live.pace import Pace, paced
from streamviz.live.rendering import fragment


def as_update(part: str) -> str:
    """Turn a part of the page into an update of what the page has: its first element has an id."""
    return part.replace(' id="', ' hx-swap-oob="true" id="', 1)


def row(entry: Entry) -> SafeString:
    """A whole row of the Live page."""
    # The parts come from `row_parts` and are escaped.
    parts = {name: SafeString(part) for name, part in entry.parts.items()}
    return fragment("_asks_row" if entry.group == "asks" else "_row", entry=entry, parts=parts)


def group_count(name: str, number: int, most: int) -> str:
    """How many rows a group of the Live page has, as an update; the page shows at most `most` of them."""
    count = fragment("_group_count", name=name, number=number, oob=True)
    return count + fragment("_group_more", name=name, more=max(0, number - most), oob=True)


class Group(NamedTuple):
    """The first rows of a group of the Live page, and how many it has in all."""

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
