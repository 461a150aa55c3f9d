"""The waterfall: a lane a block, ticks of chunks above and of frames below, what was held, and why nothing came."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from streamviz.live.presentation.text import age
from streamviz.live.presentation.views import BlockView, StreamView

# Ticks are drawn on a grid of so many places, which bounds what a lane costs however many chunks it has.
WIDTH = 1_000
_LANES = 40
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600)
_MOST_MARKS = 8
_STALL_US = 1_000_000
_STALLS = 5
SILENT = "upstream silent"
CLIENT_SLOW = "client not reading"
_CHARACTER = 1.0  # per cent of the width that a letter below the lanes takes, where they are narrowest
_EDGE = 0.97  # a running stream's now is drawn here, with room to grow into


class Mark(NamedTuple):
    """A time on the axis; `x` is per cent of the width, as text."""

    x: str
    text: str


class Span(NamedTuple):
    """From somewhere to somewhere, in per cent as text."""

    x: str
    width: str
    end: str


class Lane(NamedTuple):
    """A block's lane. `received` and `sent` are SVG paths on a grid WIDTH wide."""

    block: BlockView
    span: Span
    received: str
    sent: str
    held: Span | None
    denied_x: str | None
    words: str
    sum: str


class Stall(NamedTuple):
    """A time in which nothing came, or nothing was let go. `is_named`: its words have room beside a longer one's."""

    span: Span
    middle: str
    text: str
    is_hold: bool
    is_named: bool


class Waterfall(NamedTuple):
    """The whole drawing; `now` is None once the stream is over."""

    marks: list[Mark]
    lanes: list[Lane]
    hidden: int
    stalls: list[Stall]
    now: Mark | None


class _Scale:
    """Turns times into places."""

    def __init__(self, start: int, end: int, is_running: bool) -> None:
        self.start, self.end = start, end
        self.length = max(1, int((end - start) / (_EDGE if is_running else 1)))

    def share(self, at: int) -> float:
        return min(1.0, max(0.0, (at - self.start) / self.length))

    def percent(self, at: int) -> str:
        return f"{self.share(at) * 100:.2f}%"

    def span(self, start: int, end: int) -> Span:
        width = max(0.15, (self.share(end) - self.share(start)) * 100)
        return Span(self.percent(start), f"{width:.2f}%", self.percent(end))

    def ticks(self, times: Iterable[int], top: int, height: int) -> str:
        places = sorted({round(self.share(at) * WIDTH) for at in times})
        return "".join(f"M{place} {top}v{height}" for place in places)


def waterfall_of(stream: StreamView, now: int) -> Waterfall:
    """The waterfall at the time `now` (µs since the epoch); only the newest lanes where there are very many."""
    end = stream.ended_at or (now if stream.is_running else stream.last_received_at or stream.requested_at)
    scale = _Scale(stream.requested_at, end, stream.is_running)
    blocks = stream.blocks[-_LANES:]
    # In upstream's order, and with their chunks' numbers ascending.
    passed = [frame for frame in stream.sent if frame[0] >= 0]
    return Waterfall(
        marks=list(_marks(scale)),
        lanes=[_lane(stream, passed, block, scale, end) for block in blocks],
        hidden=len(stream.blocks) - len(blocks),
        stalls=_drawn(scale, _stalls(stream, end)),
        now=Mark(scale.percent(end), f"now {age(end - scale.start)}") if stream.is_running else None,
    )


def _marks(scale: _Scale) -> Iterator[Mark]:
    seconds = scale.length / 1_000_000
    step = next((step for step in _STEPS_S if seconds / step <= _MOST_MARKS), seconds / _MOST_MARKS)
    for number in range(_MOST_MARKS + 1):
        at = scale.start + int(number * step * 1_000_000)
        if scale.share(at) > 0.9:
            return
        yield Mark(scale.percent(at), f"{number * step:g} s")


def _lane(stream: StreamView, passed: Sequence[tuple[int, int]], block: BlockView, scale: _Scale, end: int) -> Lane:
    received = stream.received_at[block.first_seq : block.last_seq + 1]
    first, after = (bisect_left(passed, (seq, 0)) for seq in (block.first_seq, block.last_seq + 1))
    sent = [at for _, at in passed[first:after]]
    hold_end = block.hold_ended_at or end
    is_over = block.state in ("never sent", "replaced") and block.hold_ended_at is not None
    chunks = block.last_seq - block.first_seq + 1
    return Lane(
        block=block,
        span=scale.span(block.started_at, block.completed_at or end),
        received=scale.ticks(received, 4, 10),
        sent=scale.ticks(sent, 17, 7),
        held=None if block.held_at is None else scale.span(block.held_at, hold_end),
        denied_x=scale.percent(hold_end) if is_over else None,
        words=f"{block.title}: {chunks} chunks, {block.steps}",
        sum=_sum(block, hold_end),
    )


def _sum(block: BlockView, hold_end: int) -> str:
    if block.is_denied:
        return "denied"
    if block.held_at is not None:
        return f"held {age(hold_end - block.held_at)}"
    return f"{block.length:,} chars"


def _stalls(stream: StreamView, end: int) -> list[tuple[int, int, str]]:
    """The longest stalls, each with its cause. While something is held, or the client reads nothing, upstream's
    silence tells nothing: that is then the cause."""
    holds = [
        (block.held_at, block.hold_ended_at or end, f"held by {', '.join(block.held_by)}" if block.held_by else "held")
        for block in stream.blocks
        if block.held_at is not None
    ]
    waits = [(start, end if until is None else until, CLIENT_SLOW) for start, until in stream.client_waits]
    causes = holds + waits
    times = [stream.requested_at, *stream.received_at, *([end] if stream.is_running else [])]
    silences = [
        (start, until, SILENT)
        for start, until in pairwise(times)
        if until - start >= _STALL_US and not any(_covers(cause, start, until) for cause in causes)
    ]
    stalls = [(start, until, cause) for start, until, cause in silences + causes if until - start >= _STALL_US]
    return sorted(stalls, key=lambda stall: stall[0] - stall[1])[:_STALLS]


def _covers(cause: tuple[int, int, str], start: int, until: int) -> bool:
    """Whether it explains most of a silence: the two never begin and end in the same microsecond."""
    common = min(until, cause[1]) - max(start, cause[0])
    return common * 2 > until - start


def _drawn(scale: _Scale, stalls: Sequence[tuple[int, int, str]]) -> list[Stall]:
    """The longest first. Words stay inside the drawing, and are left out where they would run into others."""
    drawn: list[Stall] = []
    taken: list[tuple[float, float]] = []
    for start, end, cause in stalls:
        text = f"{cause} {age(end - start)}"
        half = len(text) * _CHARACTER / 2
        middle = min(100 - half, max(half, (scale.share(start) + scale.share(end)) * 50))
        is_named = all(middle + half < left or right < middle - half for left, right in taken)
        if is_named:
            taken.append((middle - half, middle + half))
        is_hold = cause not in (SILENT, CLIENT_SLOW)
        drawn.append(Stall(scale.span(start, end), f"{middle:.2f}%", text, is_hold, is_named))
    return drawn
