"""How much of long texts a page shows: streams can be larger than a browser can hold."""

import html
from collections.abc import Iterable
from typing import NamedTuple

from streamviz.live.presentation.text import printable

# The most bytes of what a page shows of a stream. With what is around it a page stays under 2 MB.
PAGE_BYTES = 1_500_000
_LEAST = 400


class Cut(NamedTuple):
    """A text as a page shows it. Where that is not all, `end` is what follows `left_out` characters of `length`."""

    beginning: str
    end: str = ""
    left_out: int = 0
    length: int = 0


def markup_bytes(text: str) -> int:
    """How many bytes a text takes in a page, named and escaped as it is there."""
    return len(html.escape(printable(text)).encode())


def cut(text: str, room: int) -> Cut:
    """A text in at most so many bytes of a page: whole where that is enough, else without its middle."""
    if len(text) <= room and markup_bytes(text) <= room:
        return Cut(printable(text), length=len(text))
    beginning = _fitting(text[: room // 2], room // 2)
    end = _fitting(text[-(room // 2) :][::-1], room // 2)[::-1]
    return Cut(printable(beginning), printable(end), len(text) - len(beginning) - len(end), len(text))


def clipped(text: str, most: int) -> str:
    """The beginning of a text, and how long it is where that is not all."""
    return text if len(text) <= most else f"{text[:most]}… {len(text):,} characters in total"


def share(texts: Iterable[str], room: int) -> int:
    """The most bytes for each of some texts that share a page: short ones are whole, long ones are cut to one size."""
    sizes = sorted(room if len(text) >= room else markup_bytes(text) for text in texts)
    left = room
    for position, size in enumerate(sizes):
        each = left // (len(sizes) - position)
        if size > each:
            return max(_LEAST, each)
        left -= size
    return room


def _fitting(text: str, room: int) -> str:
    """As much of its beginning as there is room for."""
    while (size := markup_bytes(text)) > room:
        text = text[: len(text) * room // size]
    return text
