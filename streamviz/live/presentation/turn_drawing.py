"""The waterfall of turns: a lane per line; the model's time, the tools' time in between, and idle time cut out.

Places are per cent of the width, as text.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from streamviz.live.presentation.block_views import BlockView
from streamviz.live.presentation.durations import age, lasted
from streamviz.live.presentation.turn_scale import Scale
from streamviz.live.presentation.turn_tree import Line, Turn
from streamviz.live.presentation.views import LASTING_US, StreamView
from streamviz.live.presentation.waterfall import Mark, Span

_CHARACTER = 0.62
_DIGIT = 0.95  # of a turn's number, which is bold
_DIGIT_IN_NARROW_LANES = 2.5
_NAME = 24
_MOST_PAUSES = 200
_BLOCKS = 1_500
_BLOCKS_A_TURN = 40
_LANES = 30


class Bar(NamedTuple):
    """A block of an answer; as in strips, the more it can do, the taller it is."""

    span: Span
    css: str
    top: int
    height: int
    middle: str
    is_held: bool
    is_unsent: bool


class DrawnTurn(NamedTuple):
    """A turn, or a failed attempt at one (`cross` is where it failed). `shown` is its number, "" if there is no room;
    `is_spare`: narrow lanes have none."""

    number: str
    shown: str
    is_spare: bool
    hit: Span
    middle: str
    wait: Span | None
    bars: list[Bar]
    denied_x: str | None
    cross: Span | None
    words: str


class Pause(NamedTuple):
    """Between two turns, while a tool ran (`is_tool`) or a person thought; `text` is "" if there is no room."""

    span: Span
    text: str
    middle: str
    is_tool: bool


class HoldCaption(NamedTuple):
    """Words below a block that was held long; `left` and `right` are where they begin and end (per cent)."""

    text: str
    middle: str
    left: float
    right: float


class TurnLane(NamedTuple):
    """A line's lane; `holds` names its long holds. `hangs` is the span of the connector to the turn it hangs from."""

    line: Line
    turns: list[DrawnTurn]
    holds: list[HoldCaption]
    pauses: list[Pause]
    hangs: Span | None
    sum: str


class TurnFall(NamedTuple):
    """The whole drawing. `hidden` is how many lanes had no room."""

    marks: list[Mark]
    breaks: list[Span]
    lanes: list[TurnLane]
    hidden: int


def drawing_of(lines: Sequence[Line], streams: Mapping[UUID, StreamView], now: int, *, is_cut: bool = True) -> TurnFall:
    """The waterfall of a session's lines at the time `now` (µs since the epoch)."""
    shown = [line for line in lines if line.turns][:_LANES]
    ids = [each for line in shown for turn in line.turns for each in (*turn.attempts, turn.stream)]
    scale = Scale([(streams[each].requested_at, _end(streams[each], now)) for each in ids], is_cut=is_cut)
    most = min(_BLOCKS_A_TURN, max(1, _BLOCKS // max(1, len(ids))))
    pen = _Pen(scale, streams, now, most)
    return TurnFall(
        list(scale.marks()),
        [scale.span(since, until) for since, until in scale.cuts],
        [pen.lane(line) for line in shown],
        sum(1 for line in lines if line.turns) - len(shown),
    )


def numbers_with_room(middles: Mapping[str, float], digit: float) -> dict[str, float]:
    """Of turns' numbers around these places, as many as do not overlap if a digit is `digit` wide (all per cent)."""
    found, taken = {}, -100.0
    for number, middle in middles.items():
        half = len(number) * digit / 2 + 0.3
        if middle - half > taken:
            found[number] = middle
            taken = middle + half
    return found


class _Pen(NamedTuple):
    scale: Scale
    streams: Mapping[UUID, StreamView]
    now: int
    most: int

    def lane(self, line: Line) -> TurnLane:
        drawn = []
        middles = {turn.number: self._middle(self.streams[turn.stream]) for turn in line.turns}
        numbers = numbers_with_room(middles, _DIGIT)
        kept = numbers_with_room(numbers, _DIGIT_IN_NARROW_LANES)
        for turn in line.turns:
            drawn += [self._attempt(turn, self.streams[each]) for each in turn.attempts]
            shown = turn.number if turn.number in numbers else ""
            drawn.append(self._turn(turn, self.streams[turn.stream], shown, is_spare=turn.number not in kept))
        streaming = sum(
            _end(each, self.now) - each.requested_at for each in (self.streams[t.stream] for t in line.turns)
        )
        holds = self._holds(line)
        return TurnLane(line, drawn, holds, self._pauses(line, holds), self._hangs(line), lasted(streaming))

    def _middle(self, stream: StreamView) -> float:
        return (self.scale.place(stream.requested_at) + self.scale.place(_end(stream, self.now))) / 2

    def _turn(self, turn: Turn, stream: StreamView, shown: str, *, is_spare: bool) -> DrawnTurn:
        end, first = _end(stream, self.now), min([block.started_at for block in stream.blocks] or [0])
        bars = [self._bar(block, end) for block in stream.blocks[: self.most]]
        denied = [block for block in stream.blocks if block.is_denied]
        is_failed = stream.state(self.now).tone == "tone-deny" and not denied
        return DrawnTurn(
            turn.number,
            shown,
            is_spare,
            self.scale.span(stream.requested_at, end, 0.6),
            f"{self._middle(stream):.2f}%",
            self.scale.span(stream.requested_at, first or end),
            bars,
            self.scale.percent(denied[0].hold_ended_at or end) if denied else None,
            self.scale.span(max(stream.requested_at, end - 1), end, 0.5) if is_failed else None,
            f"Turn {turn.number}, {lasted(end - stream.requested_at)}, {_said(stream)}",
        )

    def _attempt(self, turn: Turn, stream: StreamView) -> DrawnTurn:
        end = _end(stream, self.now)
        hit = self.scale.span(stream.requested_at, end, 0.5)
        words = f"Turn {turn.number}, an attempt that failed, {lasted(end - stream.requested_at)}"
        return DrawnTurn(turn.number, "", False, hit, hit.x, None, [], None, hit, words)

    def _bar(self, block: BlockView, end: int) -> Bar:
        held = block.hold_ended_at or (end if block.held_at is not None else 0)
        span = self.scale.span(block.started_at, max(block.completed_at or end, held))
        mark = block.mark
        top, height = (15, 15) if block.is_tool_call else (20, 5) if block.is_thinking else (18, 9)
        middle = f"{top + height / 2:g}"
        return Bar(span, mark.css, top, height, middle, block.held_at is not None, block.is_unsent)

    def _holds(self, line: Line) -> list[HoldCaption]:
        """The longest hold of each turn, if it was long and its words fit below the turn."""
        captions = []
        for turn in line.turns:
            stream = self.streams[turn.stream]
            held = max(stream.blocks, key=lambda block: block.hold or 0, default=None)
            if held is None or (held.hold or 0) < LASTING_US:
                continue
            left, right = self.scale.place(stream.requested_at), self.scale.place(_end(stream, self.now))
            by_hand = any(verdict.by for verdict in stream.verdicts if verdict.ordinal == held.ordinal)
            text = f"held by hand {age(held.hold)}" if by_hand else f"held {age(held.hold)}"
            middle, half = (left + right) / 2, len(text) * _CHARACTER / 2
            if 2 * half < right - left:
                captions.append(HoldCaption(text, f"{middle:.2f}%", middle - half, middle + half))
        return captions

    def _pauses(self, line: Line, holds: Sequence[HoldCaption]) -> list[Pause]:
        if len(line.turns) > _MOST_PAUSES:
            return []
        pauses: list[Pause] = []
        taken = 0.0
        for one, other in pairwise(line.turns):
            pause, end = self._pause(one, other, taken, holds)
            taken = max(taken, end)
            pauses += [pause] if pause is not None else []
        return pauses

    def _pause(self, one: Turn, other: Turn, taken: float, holds: Sequence[HoldCaption]) -> tuple[Pause | None, float]:
        """A pause, and where its words end; they are left out if they would overlap what is `taken`, or a hold's."""
        stream = self.streams[one.stream]
        first = other.attempts[0] if other.attempts else other.stream
        since, until = _end(stream, self.now), self.streams[first].requested_at
        if until <= since:
            return None, taken
        tools = [block.title for block in stream.blocks if block.is_tool_call]
        text = f"{tools[0][:_NAME] if tools else 'user'} {lasted(until - since)}"
        left, right = self.scale.place(since), self.scale.place(until)
        half, middle = len(text) * _CHARACTER / 2, (left + right) / 2
        is_free = not any(each.left < middle + half and middle - half < each.right for each in holds)
        is_named = is_free and middle - half > taken and middle + half < 100 and (right - left) * 3 > 2 * half
        span = self.scale.span(since, until)
        drawn = Pause(span, text if is_named else "", f"{middle:.2f}%", bool(tools))
        return drawn, middle + half if is_named else taken

    def _hangs(self, line: Line) -> Span | None:
        if line.origin is None or line.origin.stream not in self.streams:
            return None
        since = _end(self.streams[line.origin.stream], self.now)
        until = self.streams[line.turns[0].stream].requested_at
        return self.scale.span(min(since, until), until)


def _said(stream: StreamView) -> str:
    calls = [block.title for block in stream.blocks if block.is_tool_call]
    return f"calls {calls[0]}" if calls else "answer" if stream.outcome == "completed" else stream.outcome or "running"


def _end(stream: StreamView, now: int) -> int:
    return max(stream.requested_at, stream.ended_at or (now if stream.is_running else stream.requested_at))
