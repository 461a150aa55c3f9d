"""How much of long texts a page shows: streams can be larger than a browser can handle."""

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streamviz.live.presentation.text import printable

# How many bytes of a stream a page shows at most. With what is around them, it stays under 2 MB.
PAGE_BYTES = 1_500_000
_LEAST = 400
# How many characters of a text are measured at a time.
_STEP = 16_384


class Cut(NamedTuple):
    """A text as a page shows it. If that is not all, `end` is what follows `left_out` of its `length` characters."""

    beginning: str
    end: str = ""
    left_out: int = 0
    length: int = 0


def markup_bytes(text: str) -> int:
    """How many bytes a text takes on a page, printable and escaped."""
    return len(html.escape(printable(text)).encode())


def fits(text: str, room: int) -> bool:
    """Whether all of a text takes at most `room` bytes of a page."""
    return _measured(text, room) <= room


def cut(text: str, room: int) -> Cut:
    """A text in at most `room` bytes of a page: whole if it fits, otherwise without its middle."""
    if fits(text, room):
        return Cut(printable(text), length=len(text))
    beginning = _fitting(text[: room // 2], room // 2)
    end = _fitting(text[-(room // 2) :][::-1], room // 2)[::-1]
    return Cut(printable(beginning), printable(end), len(text) - len(beginning) - len(end), len(text))


def clipped(text: str, most: int) -> str:
    """The beginning of a text, and its total length if that is not all."""
    return text if len(text) <= most else f"{text[:most]}… {len(text):,} characters in total"


def share(texts: Iterable[str], room: int) -> int:
    """The most bytes for each of some texts that share a page: short ones stay whole, long ones are cut to one size."""
    texts = list(texts)
    # A character takes at least a byte. So no text gets more room than if every character took just one, and a longer
    # text is cut in any case: only those that may stay whole are measured, at most `room` characters.
    most = _level([len(text) for text in texts], room)
    return max(_LEAST, _level([_measured(text, most) for text in texts], room))


def _level(sizes: Sequence[int], room: int) -> int:
    """What each of those that want more than their share may have, once the others have what they want."""
    left = room
    for position, size in enumerate(sorted(sizes)):
        each = left // (len(sizes) - position)
        if size > each:
            return each
        left -= size
    return room


def _measured(text: str, most: int) -> int:
    """How many bytes a text takes on a page. Above `most`, only that it is more: the rest is not measured."""
    if len(text) > most:
        return len(text)
    size = 0
    for start in range(0, len(text), _STEP):
        size += markup_bytes(text[start : start + _STEP])
        if size > most:
            break
    return size


def _fitting(text: str, room: int) -> str:
    """The beginning of a text, as much as there is room for."""
    end = 0
    while (step := text[end : end + _STEP]) and (size := markup_bytes(step)) <= room:
        end += len(step)
        room -= size
    while step and (size := markup_bytes(step)) > room:
        step = step[: len(step) * room // size]
    return text[:end] + step
