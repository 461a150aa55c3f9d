"""The calls of a run as lanes over its time: plans, tools and the answer."""

from collections.abc import Sequence
from typing import NamedTuple

from streamviz.core.outcome import Outcome
from streamviz.live.presentation.durations import age, lasted
from streamviz.live.presentation.figures import UNKNOWN, about, count, money, plural
from streamviz.live.presentation.text import one_line
from streamviz.live.presentation.views import StreamView
from streamviz.live.presentation.waterfall import Span, end_of

_FILLS = {"plan": "thinking", "tools": "tool", "answer": "content"}
_LEAST = 0.3
# How many denied calls a lane names.
_NAMED = 5


class CallLane(NamedTuple):
    """A call of a run; `css` says what it was for, `words` is everything for those who cannot see the drawing. `denied`
    names the calls that policies denied, the first of them at `denied_x`."""

    stream: StreamView
    part: str
    css: str
    span: Span
    state: str
    words: str
    sum: str
    denied: str
    denied_x: str


class RunCalls(NamedTuple):
    """All calls of a run, and their totals."""

    lanes: list[CallLane]
    total: str


def run_calls(run: StreamView, calls: Sequence[StreamView], now: int) -> RunCalls:
    """The drawing at the time `now` (µs since the epoch)."""
    start, end = run.requested_at, end_of(run, now)
    nexts = [*(call.requested_at for call in calls[1:]), end]
    lanes = [_lane(call, start, max(1, end - start), now, until) for call, until in zip(calls, nexts, strict=False)]
    return RunCalls(lanes, " · ".join([plural(len(calls), "call"), *_spent(calls)]))


def tools_run(call: StreamView) -> bool:
    """Whether a call let tools run: they run from its end until the run continues."""
    return call.part.startswith("tools ") and call.outcome == Outcome.COMPLETED


def _lane(call: StreamView, start: int, length: int, now: int, until: int) -> CallLane:
    end = until if tools_run(call) else end_of(call, now)
    denied = [block for block in call.blocks if block.is_denied]
    denied_at = (denied[0].hold_ended_at or end) if denied else end
    left, right, mark = (
        min(100.0, max(0.0, (at - start) * 100 / length)) for at in (call.requested_at, end, denied_at)
    )
    width = max(_LEAST, right - left)
    part = one_line(call.part, 60)
    state = call.settled_state(now).word
    took = lasted(end - call.requested_at)
    said = f"{', '.join(block.title for block in denied[:_NAMED])} denied" if denied else ""
    words = f"{part}: {state}, {took}, from {age(call.requested_at - start)} on" + (f", {said}" if said else "")
    span = Span(f"{left:.2f}%", f"{width:.2f}%", f"{left + width:.2f}%")
    fill = _FILLS.get(part.split(" ")[0], "other")
    denied_x = f"{mark:.2f}%" if denied else ""
    return CallLane(call, part, fill, span, state, words, took, said, denied_x)


def _spent(calls: Sequence[StreamView]) -> list[str]:
    """Tokens and cost, as far as they are known."""
    told = [call.tokens for call in calls if call.tokens.output is not None]
    if not told:
        return [f"tokens {UNKNOWN}"]
    is_estimated = any(each.is_estimated for each in told)
    asked, said = sum(each.input or 0 for each in told), sum(each.output or 0 for each in told)
    costs = [call.cost for call in calls if call.cost is not None]
    unknown = sum(call.cost is None and bool(call.tokens.input or call.tokens.output) for call in calls)
    cost = about(money(sum(costs)), is_estimated) + (f", {unknown} unknown" if unknown else "")
    spent = [f"{about(count(asked), is_estimated)} tokens in, {about(count(said), is_estimated)} out"]
    return [*spent, *([cost] if costs else [])]
