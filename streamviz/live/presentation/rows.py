"""A stream as one dense row of the Live page."""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from streamviz.live.presentation import marks
from streamviz.live.presentation.block_views import BlockView, VerdictView
from streamviz.live.presentation.calls import call_line
from streamviz.live.presentation.durations import age, ago, lasted
from streamviz.live.presentation.figures import count, plural
from streamviz.live.presentation.spark import Spark, counts_of, spark_of
from streamviz.live.presentation.strip import Strip, strip_of
from streamviz.live.presentation.text import one_line, plain_reason
from streamviz.live.presentation.views import StreamView

_MOST_ASKS = 5
_WHY_CHARACTERS = 300
GRAVEST_FIRST = ("halt", "deny", "replace", "would halt", "would deny", "would replace", "allow", "would allow")


class Badge(NamedTuple):
    """A state, or all verdicts of one word. `since_ms` is since when it is held, or when a person decided (ms since the
    epoch); `age` is how long ago that was."""

    word: str
    icon: str
    css: str
    since_ms: int | None = None
    age: str = ""

    @property
    def is_by_hand(self) -> bool:
        """Whether it says what a person decided."""
        return self.since_ms is not None and self.css != "held"


class Clock(NamedTuple):
    """The time that has passed, as text, and the moment it counts from (ms since the epoch; None if it has stopped)."""

    text: str
    since_ms: int | None


class Ask(NamedTuple):
    """What a person is asked: about which block, its call on one line, why it would not be allowed, and the seconds
    left, also as `0:41`. `prefix` begins the ids of its buttons."""

    block: BlockView
    line: str
    why: str
    seconds: int
    left: str
    prefix: str


class RowText(NamedTuple):
    """What changes in a row with almost every chunk. `last` is the time since the newest one, or since the end."""

    stream_id: uuid.UUID
    is_running: bool
    tail: str
    last: Clock


@dataclass(frozen=True)
class RowView:
    """A stream's row at the time `now` (µs since the epoch), with its recent chunks per second (`spark.counts_of`).

    What is expensive to draw is only drawn on demand.
    """

    stream: StreamView
    now: int
    counts: Sequence[int]

    @cached_property
    def state(self) -> marks.StateMark:
        return self.stream.settled_state(self.now)

    @cached_property
    def strip(self) -> Strip:
        return strip_of(self.stream)

    @property
    def spark(self) -> Spark:
        return spark_of(self.counts)

    @property
    def text(self) -> RowText:
        stream = self.stream
        last = last_of(stream.quiet_since, stream.ended_at, self.now)
        return RowText(stream.id, stream.is_running, stream.tail, last)

    @property
    def age(self) -> Clock:
        """The time since the request."""
        return _age(self.stream, self.now)

    @property
    def asks(self) -> list[Ask]:
        """What a person is asked, as far as a row has room for it."""
        return asks_of(self.stream, self.now, f"r-{self.stream.id.hex}-")[:_MOST_ASKS]

    @property
    def more_asks(self) -> int:
        return max(0, len(self.stream.asking) - _MOST_ASKS)

    @property
    def calls_line(self) -> str:
        """How many calls a run has made, and the state of the last one."""
        calls = self.stream.calls
        return f"{plural(self.stream.call_count, 'call')}, {calls[-1].part}: {calls[-1].word}" if calls else ""

    @property
    def earlier_calls(self) -> int:
        """How many calls a row has no room for."""
        return self.stream.call_count - len(self.stream.calls)

    @cached_property
    def badges(self) -> list[Badge]:
        return _badges(self.stream, self.state, self.now)

    @cached_property
    def why(self) -> str:
        return _why(self.stream, self.state, self.now)


def row_of(stream: StreamView, now: int) -> RowView:
    """The row at the time `now` (µs since the epoch)."""
    return RowView(stream, now, counts_of(stream.received_at, now, stream.ended_at))


def asks_of(stream: StreamView, now: int, prefix: str = "h") -> list[Ask]:
    """What a person is asked about a stream, at the time `now` (µs since the epoch)."""
    return [_ask(block, block.left(now), prefix) for block in stream.asking]


def _ask(block: BlockView, seconds: int, prefix: str) -> Ask:
    line = call_line(block.text, block.length) if block.is_tool_call else block.summary
    left = f"{seconds // 60}:{seconds % 60:02}"
    why = one_line(plain_reason(block.hold_reason, block.title), _WHY_CHARACTERS)
    return Ask(block, line, why, seconds, left, prefix)


def last_of(quiet_since: int, ended_at: int | None, now: int) -> Clock:
    """The time since the newest chunk, or since the end."""
    if ended_at is not None:
        return Clock(ago((now - ended_at) / 1_000_000), ended_at // 1000)
    return Clock(age(now - quiet_since), quiet_since // 1000)


def _age(stream: StreamView, now: int) -> Clock:
    if stream.ended_at is not None:
        return Clock(lasted(stream.ended_at - stream.requested_at), None)
    return Clock(age(now - stream.requested_at), stream.requested_at // 1000)


def _badges(stream: StreamView, state: marks.StateMark, now: int) -> list[Badge]:
    badges = []
    if state is marks.HELD:
        since = min(block.held_at or now for block in stream.held)
        badges.append(Badge("held", "", "held", since // 1000, age(now - since)))
    elif state is marks.STALLED:
        badges.append(Badge("stalled", "stall", "stalled"))
    elif state.group == "finished" and state.tone and not _is_halted_by_policy(stream, state):
        badges.append(Badge(state.word, "deny" if state.tone == "tone-deny" else "stall", f"outcome {state.tone}"))
    return badges + _by_hand(stream, now) + _verdict_badges(stream)


def _by_hand(stream: StreamView, now: int) -> list[Badge]:
    """What a person decided last, and when."""
    last = next((verdict for verdict in reversed(stream.verdicts) if verdict.by), None)
    if last is None:
        return []
    word = f"{last.mark.done} by {one_line(last.by, 40)}"
    return [Badge(word, last.mark.icon, _css(last), last.at // 1000, ago((now - last.at) / 1_000_000))]


def _is_halted_by_policy(stream: StreamView, state: marks.StateMark) -> bool:
    """Whether a verdict says so already; what a person cancels is halted, too."""
    return state is marks.OUTCOMES["halted"] and any(verdict.word == "halt" for verdict in stream.verdicts)


def _verdict_badges(stream: StreamView) -> list[Badge]:
    """One badge per word, the gravest first, with a count if there are several."""
    counts = Counter((verdict.word, verdict.mark.icon, _css(verdict)) for verdict in stream.verdicts if not verdict.by)
    ordered = sorted(counts.items(), key=lambda item: GRAVEST_FIRST.index(item[0][0]))
    return [Badge(word if n == 1 else f"{count(n)} {word}", icon, css) for (word, icon, css), n in ordered]


def _css(verdict: VerdictView) -> str:
    return f"{verdict.mark.css} verdict-shadow" if verdict.is_shadow else verdict.mark.css


def _why(stream: StreamView, state: marks.StateMark, now: int) -> str:
    """The reason for the state, shown beside it."""
    if state is marks.HELD:
        block = stream.held[0]
        return f"{', '.join(block.held_by)} · {block.title}"
    if state is marks.ASKS:
        return " · ".join(f"{block.asked_by} would deny {block.title}" for block in stream.asking[:_MOST_ASKS])
    if state is marks.STALLED and stream.awaited:
        return f"request held by {', '.join(stream.awaited)}"
    if state is marks.STALLED:
        return "client not reading" if stream.is_client_slow(now) else "upstream silent"
    if stream.error:
        return one_line(stream.error, 160)
    if intervening := [verdict for verdict in stream.verdicts if verdict.intervenes]:
        gravest = min(reversed(intervening), key=lambda verdict: GRAVEST_FIRST.index(verdict.word))
        return _verdict_line(gravest, stream.blocks)
    if stream.outcome:
        return " · ".join(word for word in (state.word, one_line(stream.finish_reason, 40)) if word)
    return ""


def _verdict_line(verdict: VerdictView, blocks: Sequence[BlockView]) -> str:
    name = next((block.title for block in blocks if block.ordinal == verdict.ordinal), "")
    word = verdict.word if verdict.is_shadow else ""
    return " · ".join(word for word in (word, verdict.policy, one_line(verdict.reason, 120) or name) if word)
