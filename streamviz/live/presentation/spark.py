"""The sparkline: chunks per second, over the last seconds."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_SECOND = 1_000_000
_BARS = 24
_STEP = 3.5
_WIDTH = 2.5
_HEIGHT = 20
_LEAST_FULL = 10  # chunks a second that fill the height, unless there are more


class Spark(NamedTuple):
    """`bars` and `none` are SVG paths: seconds with chunks and seconds without; `now` is the newest second's bar."""

    bars: str
    none: str
    now_x: str
    now_y: int
    now_height: int
    rate: int
    words: str


def counts_of(received_at: Sequence[int], now: int, ended_at: int | None = None) -> list[int]:
    """How many chunks arrived in each of the seconds that are drawn, oldest first; times are µs since the epoch, in
    order. Only whole seconds count, so that it changes once a second. For a finished stream it no longer changes, and
    shows the end."""
    end = now // _SECOND * _SECOND if ended_at is None else -(-ended_at // _SECOND) * _SECOND
    edges = [bisect_left(received_at, end - age * _SECOND) for age in range(_BARS, -1, -1)]
    return [after - before for before, after in pairwise(edges)]


def spark_of(counts: Sequence[int]) -> Spark:
    """The sparkline for these chunks per second."""
    full = max(_LEAST_FULL, *counts)
    heights = [round(count * _HEIGHT / full) for count in counts]
    bars = "".join(_bar(n, max(1, height)) for n, height in enumerate(heights[:-1]) if counts[n])
    none = "".join(_bar(n, 1) for n, count in enumerate(counts) if not count)
    last = max(1, heights[-1]) if counts[-1] else 0
    words = f"{counts[-1]} chunks a second"
    return Spark(bars, none, f"{(_BARS - 1) * _STEP:g}", _HEIGHT - last, last, counts[-1], words)


def _bar(number: int, height: int) -> str:
    return f"M{number * _STEP:g} {_HEIGHT}v-{height}h{_WIDTH}v{height}z"
