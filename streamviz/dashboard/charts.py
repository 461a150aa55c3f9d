"""Bars over time, drawn on the server: all places are per cent as text, for the attributes of SVG.

A drawing is for those who can see it and point at it; the same figures are in a table beside it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from streamviz.dashboard.timespans import Timespan

_BAR = 0.8  # of a step's width
_LEAST = 2.0  # so that every value can be seen
_SHADES = 5
# One in _OUTLIERS steps, and at least one, is cut off if the highest is more than _FAR times as high as the rest.
_OUTLIERS, _FAR = 20, 4
_LEAST_REST = 4
_ROOM = 1.25  # above the highest of the rest


class Piece(NamedTuple):
    """A piece of a bar; `css` names its look."""

    css: str
    y: str
    height: str


class Bar(NamedTuple):
    """A step that begins `at`. `words` says all about it, `href` leads to the streams behind it. `over` is its value if
    that is above the drawing's height."""

    x: str
    width: str
    words: str
    href: str
    pieces: list[Piece]
    over: str
    at: datetime


class Brush(NamedTuple):
    """Where dragging across a drawing of `span` leads: `{from}` and `{to}` in `href` stand for the selected time."""

    span: Timespan
    href: str


class Chart(NamedTuple):
    """A drawing; `top` says what its full height stands for, empty if there is nothing to draw."""

    bars: list[Bar]
    top: str


class Column(NamedTuple):
    """A step that begins `at`, with its values from the bottom up, each with the name of its look."""

    at: datetime
    words: str
    href: str
    values: Sequence[tuple[str, float]]


class Spread(NamedTuple):
    """The median and the 95th percentile of a step that begins `at`."""

    at: datetime
    words: str
    href: str
    p50: float | None
    p95: float | None


class Range(NamedTuple):
    """The median and the 95th percentile of one kind of value, whose look `css` names."""

    css: str
    p50: float
    p95: float


class Ranges(NamedTuple):
    """The ranges of a step that begins `at`."""

    at: datetime
    words: str
    href: str
    ranges: Sequence[Range]


class Bands(NamedTuple):
    """How many values each band has, in a step that begins `at`."""

    at: datetime
    words: str
    href: str
    numbers: Mapping[int, int]


def percent(value: float) -> str:
    return f"{value:.2f}%"


def _unsaid(value: float) -> str:
    return ""


def stacked(columns: Sequence[Column | None], shown: Callable[[float], str] = _unsaid, full: float = 0) -> Chart:
    """Stacked values; None is a step with nothing. `full` is the value of the full height, by default what `height`
    says. `shown` formats a value."""
    full = full or height([_sum(each) for each in columns if each])
    bars = []
    for n, each in enumerate(columns):
        if each and full:
            total = _sum(each)
            over = shown(total) if total > full else ""
            bars.append(_bar(n, len(columns), each, _pieces(each, max(full, total)), over))
    return Chart(bars, shown(full) if bars else "")


def _sum(column: Column) -> float:
    return sum(value for _, value in column.values)


def height(values: Sequence[float]) -> float:
    """The value of a drawing's full height: one value far above the others must not flatten them."""
    ordered = sorted(value for value in values if value)
    rest = ordered[: len(ordered) - max(1, len(ordered) // _OUTLIERS)]
    if len(rest) >= _LEAST_REST and ordered[-1] > _FAR * rest[-1]:
        return rest[-1] * _ROOM
    return ordered[-1] if ordered else 0


def highest(columns: Sequence[Column | None]) -> float:
    """The largest total of a step."""
    return max((_sum(each) for each in columns if each), default=0)


def spreads(columns: Sequence[Spread | None], shown: Callable[[float], str] = _unsaid) -> Chart:
    """Bars from each median to its 95th percentile; unknown values are gaps. `shown` formats a value."""
    known = {n: each for n, each in enumerate(columns) if each and each.p95 is not None}
    full = height([each.p95 or 0 for each in known.values()])
    bars = []
    for n, each in known.items():
        high = each.p95 or 0
        bars.append(_bar(n, len(columns), each, _spread(each, full), shown(high) if high > full else ""))
    return Chart(bars, shown(full) if full else "")


def ranges(columns: Sequence[Ranges | None], shown: Callable[[float], str], least: float) -> Chart:
    """Bars from each median to its 95th percentile, on a log scale of whole powers of ten, from `least` on."""
    known = [each for column in columns if column for each in column.ranges]
    if not known:
        return Chart([], "")
    low = math.floor(math.log10(max(least, min(each.p50 for each in known))))
    high = max(low + 1, math.ceil(math.log10(max(least, *(each.p95 for each in known)))))

    def place(value: float) -> float:
        return 100 * (1 - max(0.0, math.log10(max(least, value)) - low) / (high - low))

    bars = [
        _bar(n, len(columns), column, [piece for each in column.ranges for piece in _range(each, place)])
        for n, column in enumerate(columns)
        if column
    ]
    return Chart(bars, f"{shown(10**high)}, from {shown(10**low)} on a log scale")


def _range(each: Range, place: Callable[[float], float]) -> list[Piece]:
    top, middle = place(each.p95), min(100 - _LEAST, place(each.p50))
    return [
        Piece(each.css, percent(top), percent(max(_LEAST, middle - top))),
        Piece("median", percent(middle), percent(_LEAST)),
    ]


def heat(columns: Sequence[Bands | None], shown: Callable[[int], str]) -> Chart:
    """How many values each band has: the more, the darker."""
    bands = [band for each in columns if each for band in each.numbers]
    most = max((number for each in columns if each for number in each.numbers.values()), default=0)
    if not bands:
        return Chart([], "")
    low, high = min(bands), max(bands) + 1
    height = 100 / (high - low)
    bars = []
    for n, each in enumerate(columns):
        if each:
            cells = [
                Piece(f"heat-{_darkness(number, most)}", percent((high - 1 - band) * height), percent(height))
                for band, number in sorted(each.numbers.items())
            ]
            bars.append(_bar(n, len(columns), each, cells))
    return Chart(bars, f"{shown(high)}, from {shown(low)} on a log scale")


def _darkness(number: int, most: int) -> int:
    return max(1, math.ceil(_SHADES * number / most))


def _bar(number: int, of: int, column: Column | Spread | Ranges | Bands, pieces: list[Piece], over: str = "") -> Bar:
    step = 100 / of
    x = number * step + step * (1 - _BAR) / 2
    return Bar(percent(x), percent(step * _BAR), column.words, column.href, pieces, over, column.at)


def _pieces(column: Column, full: float) -> list[Piece]:
    pieces, ground = [], 100.0
    for css, value in column.values:
        if value:
            height = max(_LEAST, value / full * 100)
            ground = max(0.0, ground - height)
            pieces.append(Piece(css, percent(ground), percent(height)))
    return pieces


def _spread(column: Spread, full: float) -> list[Piece]:
    scale = 100 / full if full else 0.0
    high = min(100 - _LEAST, max(0.0, 100 - (column.p95 or 0) * scale))
    middle = min(100 - _LEAST, max(0.0, 100 - (column.p50 or 0) * scale))
    return [
        Piece("spread", percent(high), percent(max(_LEAST, middle - high))),
        Piece("median", percent(middle), percent(_LEAST)),
    ]
