"""The waterfall: a lane per block, ticks of chunks above and of frames below, what was held, and why nothing came."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from streamviz.core.judgements import Subject
from streamviz.core.timing import UPSTREAM_SILENT, Wait, stalls
from streamviz.live.presentation.block_views import BlockView
from streamviz.live.presentation.durations import age, lasted
from streamviz.live.presentation.figures import plural
from streamviz.live.presentation.views import StreamView

# Ticks are drawn on a grid of this many places, which limits what a lane costs, however many chunks it has.
WIDTH = 1_000
_LANES = 40
_STEPS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600)
_MOST_MARKS = 8
_STALLS = 5
CLIENT_SLOW = "client not reading"
_CHARACTER = 1.0  # per cent of the width that a letter below the lanes takes, where they are narrowest
_EDGE = 0.97  # where a running stream's now is drawn, with room to grow into


class Mark(NamedTuple):
    """A time on the axis; `x` is per cent of the width, as text."""

    x: str
    text: str


class Span(NamedTuple):
    """A range, in per cent as text."""

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


class BesideBlocks(NamedTuple):
    """A lane for what belongs to no block: what upstream says of the answer itself, or frames without a chunk."""

    name: str
    received: str
    sent: str
    words: str
    sum: str


class Stall(NamedTuple):
    """A time in which nothing came, or nothing was released. `is_named`: there is room for its words."""

    span: Span
    middle: str
    text: str
    is_hold: bool
    is_named: bool


class Waterfall(NamedTuple):
    """The whole drawing, `length` µs long; the stream reaches to `end_x`, and `now` is None once it is over."""

    marks: list[Mark]
    lanes: list[Lane]
    hidden: int
    beside: list[BesideBlocks]
    stalls: list[Stall]
    now: Mark | None
    length: int
    end_x: str

    @property
    def length_ms(self) -> int:
        return self.length // 1000


class _Scale:
    """Maps times to places."""

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

    def ticks(self, times: Sequence[int], top: int, height: int) -> str:
        """One tick at each place that has any of the times. They ascend, so all at one place are skipped at once."""
        ticks, position = [], 0
        while position < len(times):
            place = min(WIDTH, max(0, (times[position] - self.start) * WIDTH // self.length))
            ticks.append(f"M{place} {top}v{height}")
            next_begins = self.start - (-(place + 1) * self.length // WIDTH)
            position = len(times) if place == WIDTH else bisect_left(times, next_begins, position + 1)
        return "".join(ticks)


def end_of(stream: StreamView, now: int) -> int:
    """When a stream ended, or how far it is at the time `now` (µs since the epoch)."""
    return stream.ended_at or (now if stream.is_running else stream.last_received_at or stream.requested_at)


def waterfall_of(stream: StreamView, now: int, before: int | None = None, *, length: int = 0) -> Waterfall:
    """The waterfall at the time `now` (µs since the epoch), at least `length` µs long. If there are very many lanes,
    only the newest, or the last of those before the block `before`."""
    end = end_of(stream, now)
    scale = _Scale(stream.requested_at, max(end, stream.requested_at + length), stream.is_running)
    known = stream.blocks[:before]
    blocks = known[-_LANES:]
    return Waterfall(
        marks=list(_marks(scale)),
        lanes=[_lane(stream, block, scale, end) for block in blocks],
        hidden=len(known) - len(blocks),
        beside=list(_beside(stream, scale)),
        stalls=_drawn(scale, _stalls(stream, end)),
        now=Mark(scale.percent(end), f"now {age(end - scale.start)}") if stream.is_running else None,
        length=scale.length,
        end_x=scale.percent(end),
    )


def _marks(scale: _Scale) -> Iterator[Mark]:
    seconds = scale.length / 1_000_000
    step = next((step for step in _STEPS_S if seconds / step <= _MOST_MARKS), seconds / _MOST_MARKS)
    for number in range(_MOST_MARKS + 1):
        at = scale.start + int(number * step * 1_000_000)
        if scale.share(at) > 0.9:
            return
        yield Mark(scale.percent(at), f"{number * step * 1000:g} ms" if step < 0.1 else f"{number * step:g} s")


def _lane(stream: StreamView, block: BlockView, scale: _Scale, end: int) -> Lane:
    received = stream.received_at[block.first_seq : block.last_seq + 1]
    first, after = _place(stream, block.first_seq), _place(stream, block.last_seq + 1)
    hold_end = block.hold_ended_at or end
    is_over = block.state in ("never sent", "replaced") and block.hold_ended_at is not None
    chunks = block.last_seq - block.first_seq + 1
    return Lane(
        block=block,
        span=scale.span(block.started_at, block.completed_at or end),
        received=scale.ticks(received, 4, 10),
        sent=scale.ticks(stream.passed_at[first:after], 17, 7),
        held=None if block.held_at is None else scale.span(block.held_at, hold_end),
        denied_x=scale.percent(hold_end) if is_over else None,
        words=f"{block.title}: {chunks} chunks, {block.steps}",
        sum=_sum(block, hold_end),
    )


def _beside(stream: StreamView, scale: _Scale) -> Iterator[BesideBlocks]:
    spans = list(_between_blocks(stream))
    chunks = sum(len(span) for span in spans)
    if chunks:
        received = [at for span in spans for at in stream.received_at[span.start : span.stop]]
        passed = [slice(_place(stream, span.start), _place(stream, span.stop)) for span in spans]
        sent = [at for span in passed for at in stream.passed_at[span]]
        number = plural(chunks, "chunk")
        words = f"{number} of the answer itself, in no block"
        yield BesideBlocks("answer", scale.ticks(received, 4, 10), scale.ticks(sent, 17, 7), words, number)
    if stream.made_at:
        frames = plural(len(stream.made_at), "frame")
        words = f"{frames} to the client that upstream did not send"
        yield BesideBlocks("injected", "", scale.ticks(stream.made_at, 17, 7), words, frames)


def _between_blocks(stream: StreamView) -> Iterator[range]:
    """The chunks that no block spans."""
    reached = 0
    for block in stream.blocks:
        if block.first_seq > reached:
            yield range(reached, block.first_seq)
        reached = max(reached, block.last_seq + 1)
    if reached < len(stream.received_at):
        yield range(reached, len(stream.received_at))


def _place(stream: StreamView, seq: int) -> int:
    return bisect_left(stream.passed_seqs, seq)


def _sum(block: BlockView, hold_end: int) -> str:
    if block.is_denied:
        return "denied"
    if block.is_unsent:
        return block.state
    if block.held_at is not None:
        return f"held {lasted(hold_end - block.held_at)}"
    return f"{block.length:,} chars"


def _stalls(stream: StreamView, end: int) -> list[Wait]:
    holds = [
        Wait(block.held_at, block.hold_ended_at or end, _held_by(block))
        for block in stream.blocks
        if block.held_at is not None
    ]
    waits = [Wait(start, end if until is None else until, CLIENT_SLOW) for start, until in stream.client_waits]
    holds += _of_request(stream, end)
    times = [stream.requested_at, *stream.received_at, *([end] if stream.is_running else [])]
    return stalls(times, holds + waits)[:_STALLS]


def _of_request(stream: StreamView, end: int) -> Iterator[Wait]:
    """What the request waited for before upstream was asked."""
    if stream.awaited:
        yield Wait(stream.requested_at, end, f"held by {', '.join(stream.awaited)}")
    for verdict in stream.verdicts:
        if verdict.ordinal is None and verdict.block_name == Subject.REQUEST and not verdict.is_shadow:
            yield Wait(verdict.at - verdict.took, verdict.at, f"held by {verdict.policy}")


def _held_by(block: BlockView) -> str:
    return f"held by {', '.join(block.held_by)}" if block.held_by else "held"


def _drawn(scale: _Scale, waits: Sequence[Wait]) -> list[Stall]:
    """The longest first. Words stay inside the drawing, and are left out if they would overlap others."""
    drawn: list[Stall] = []
    taken: list[tuple[float, float]] = []
    for wait in waits:
        text = f"{wait.cause} {age(wait.duration)}"
        half = len(text) * _CHARACTER / 2
        middle = min(100 - half, max(half, (scale.share(wait.began) + scale.share(wait.ended)) * 50))
        is_named = all(middle + half < left or right < middle - half for left, right in taken)
        if is_named:
            taken.append((middle - half, middle + half))
        is_hold = wait.cause not in (UPSTREAM_SILENT, CLIENT_SLOW)
        drawn.append(Stall(scale.span(wait.began, wait.ended), f"{middle:.2f}%", text, is_hold, is_named))
    return drawn
