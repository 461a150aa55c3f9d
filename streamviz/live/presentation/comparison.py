"""Two streams side by side: their figures with the differences, and the words that differ."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from streamviz.core.differences import Differ, Part
from streamviz.live.presentation.block_views import BlockView
from streamviz.live.presentation.cutting import PAGE_BYTES, cut, share
from streamviz.live.presentation.durations import exact
from streamviz.live.presentation.figures import UNKNOWN, about, count, money
from streamviz.live.presentation.text import printable
from streamviz.live.presentation.views import StreamView
from streamviz.live.presentation.waterfall import Waterfall, end_of, waterfall_of

_MOST_CHARACTERS = 20_000
# The room for the texts of two answers on a page, and the markup around each text and its pieces, in bytes.
_ROOM = PAGE_BYTES * 2 // 3
_FRAME_BYTES = 2_000
_BOLD = 0.1


class Figure(NamedTuple):
    """A figure of A and of B, and the difference, also as a share of A's. `is_bold`: it is worth a look."""

    name: str
    a: str
    b: str
    delta: str
    share: str = ""
    is_bold: bool = False


class Piece(NamedTuple):
    """Words of one side; `is_own`: the other side does not have them."""

    text: str
    is_own: bool


class Pair(NamedTuple):
    """A block of A and the one of B in its place; None if there is none."""

    a: BlockView | None
    b: BlockView | None
    a_pieces: Sequence[Piece]
    b_pieces: Sequence[Piece]


class Times(NamedTuple):
    """One side's waterfall, on an axis that both share, and how long the stream took."""

    side: str
    name: str
    of: uuid.UUID
    fall: Waterfall
    took: str


Number = Callable[[StreamView], float | None]

_NUMBERS: dict[str, tuple[Number, Callable[[float], str], bool]] = {
    "Duration": (lambda view: view.since_start(view.ended_at), exact, True),
    "Held": (lambda view: sum(block.hold or 0 for block in view.blocks), exact, True),
    "Cost": (lambda view: view.cost, money, True),
    "TTFT upstream": (lambda view: view.since_start(view.upstream_first_at), exact, True),
    "TTFT client": (lambda view: view.since_start(view.client_first_at), exact, True),
    "ITL p50": (lambda view: view.itl_p50, exact, True),
    "Tokens in": (lambda view: view.tokens.input, count, False),
    "Cached": (lambda view: view.tokens.cache_read, count, True),
    "Tokens out": (lambda view: view.tokens.output, count, False),
}
# Figures that are estimates if the tokens are.
_OF_TOKENS = {"Cost", "Tokens in", "Tokens out"}
_WORDS: dict[str, Callable[[StreamView], str]] = {
    "Model": lambda view: view.model,
    "HTTP": lambda view: "" if view.status is None else str(view.status),
    "Outcome": lambda view: view.outcome.replace("_", " "),
    "Finish": lambda view: view.finish_reason,
}


def figures_of(a: StreamView, b: StreamView) -> list[Figure]:
    """The figures of both, and B minus A."""
    return [*_numbers(a, b), *_words(a, b)]


def _numbers(a: StreamView, b: StreamView) -> Iterator[Figure]:
    for name, (read, shown, may_be_bold) in _NUMBERS.items():
        of_a, of_b = (name in _OF_TOKENS and view.tokens.is_estimated for view in (a, b))
        one, other = read(a), read(b)
        told_a, told_b = _told(one, shown, of_a), _told(other, shown, of_b)
        if one is None or other is None:
            yield Figure(name, told_a, told_b, UNKNOWN)
            continue
        more = other - one
        share = more / one if one else 0.0
        percent = f"{_sign(more)}{abs(share):,.0%}" if more and one else ""
        delta = about(_delta(more, shown), more and (of_a or of_b))
        yield Figure(name, told_a, told_b, delta, percent, may_be_bold and abs(share) >= _BOLD)


def _told(value: float | None, shown: Callable[[float], str], is_estimated: bool) -> str:
    return UNKNOWN if value is None else about(shown(value), is_estimated)


def _delta(more: float, shown: Callable[[float], str]) -> str:
    told = shown(abs(more))
    if not more:
        return "same"
    if told.startswith("<"):
        return f"{told} {'more' if more > 0 else 'less'}"
    return f"{_sign(more)}{told}"


def _sign(more: float) -> str:
    return "+" if more > 0 else "−"


def _words(a: StreamView, b: StreamView) -> Iterator[Figure]:
    for name, read in _WORDS.items():
        one, other = printable(read(a))[:60], printable(read(b))[:60]
        yield Figure(name, one or UNKNOWN, other or UNKNOWN, "same" if one == other else "differs")


def times_of(a: StreamView, b: StreamView, now: int) -> list[Times]:
    """The waterfalls of both at the time `now` (µs since the epoch), both drawn as long as the longer one."""
    lengths = [end_of(each, now) - each.requested_at for each in (a, b)]
    return [
        Times(side, each.short_id, each.id, waterfall_of(each, now, length=max(lengths)), exact(length))
        for side, each, length in zip("AB", (a, b), lengths, strict=True)
    ]


def pairs_of(a: Sequence[BlockView], b: Sequence[BlockView]) -> list[Pair]:
    """The blocks of two answers, paired by their order."""
    blocks = list(zip_longest(a, b))
    texts = [(one.text if one else "", other.text if other else "") for one, other in blocks]
    told = beside_each_other(texts, _ROOM)
    return [Pair(*pair, *pieces) for pair, pieces in zip(blocks, told, strict=True)]


def beside_each_other(texts: Sequence[tuple[str, str]], room: int) -> list[tuple[list[Piece], list[Piece]]]:
    """Pairs of texts in pieces, in `room` bytes of a page; if they are longer, each without its middle."""
    beginnings = [text[:_MOST_CHARACTERS] for pair in texts for text in pair]
    each = share(beginnings, room - _FRAME_BYTES * len(beginnings))
    differ = Differ()
    return [pieces_of(differ.parts(_cut(one, each), _cut(other, each))) for one, other in texts]


def _cut(text: str, room: int) -> str:
    shown = cut(text, min(room, _MOST_CHARACTERS) if len(text) > _MOST_CHARACTERS else room)
    if not shown.left_out:
        return text
    return f"{shown.beginning} … {shown.left_out:,} of {shown.length:,} characters not shown … {shown.end}"


def pieces_of(parts: Sequence[Part]) -> tuple[list[Piece], list[Piece]]:
    """Two texts in pieces, each side's own: what they share, and what only one has."""
    first = [Piece(part.before, not part.is_same) for part in parts if part.before]
    second = [Piece(part.after, not part.is_same) for part in parts if part.after]
    return first, second
