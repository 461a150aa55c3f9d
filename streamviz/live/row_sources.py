"""What rows of the Live page are rendered from: small enough to be sent to another process ten times a second."""

import uuid
from collections.abc import Sequence

import msgspec
from msgspec import structs

from streamviz.core.events import BlockKind
from streamviz.exchange.recording import NAME_CHARACTERS, short_entries_of
from streamviz.exchange.stream import LiveStream
from streamviz.live.feed import Feed
from streamviz.live.presentation import marks
from streamviz.live.presentation.block_views import TAIL_CHARACTERS
from streamviz.live.presentation.run_calls import tools_run
from streamviz.live.presentation.spark import counts_of
from streamviz.live.presentation.stream_views import view_of
from streamviz.live.presentation.views import (
    ASKED_CHARACTERS,
    STALLED_US,
    CallMark,
    StreamView,
    is_lasting,
)

SECOND = 1_000_000
# How many calls of a run a row has room for; the run's page has all of them.
MOST_CALLS = 12
_NOTHING: tuple[object, ...] = (None,)


class Tail(msgspec.Struct, frozen=True, gc=False):
    """What changes with almost every chunk: the end of the newest block with any text, and when the last chunk came.

    Times are µs since the epoch; `kind` is None if there is no text yet.
    """

    kind: BlockKind | None
    name: str
    ending: str
    quiet_since: int
    ended_at: int | None


class RowSource(msgspec.Struct, frozen=True, gc=False):
    """A row at the time `at` (µs since the epoch). `view` has neither texts nor chunks' times, and is None if only the
    tail has changed; `counts` are its chunks per second (`spark.counts_of`)."""

    id: uuid.UUID
    at: int
    tail: Tail
    view: StreamView | None = None
    counts: Sequence[int] = ()


class RowSources:
    """Remembers what was sent of each stream: a whole row is sent about once a second, and when it changes."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._told: dict[uuid.UUID, tuple[object, ...]] = {}
        self._lost: list[uuid.UUID] = []

    def forget(self) -> None:
        """Start over, as if nothing had been sent."""
        self._told.clear()
        self._lost.clear()

    def due(self, now: int) -> list[uuid.UUID]:
        """Running streams whose whole row is due: rates and stalls change with time."""
        running, told = self._feed.running, self._told
        if len(told) > len(running) + len(self._feed.finished):
            self._told = {each: said for each, said in told.items() if self._feed.get(each)}
            self._lost += [each for each in told.keys() - self._told.keys() if told[each][1] is None]
            told = self._told
        return [each for each, stream in running.items() if told.get(each, _NOTHING)[0] != _second_of(stream, now)]

    def take_lost(self) -> list[uuid.UUID]:
        """Streams whose end was never sent, as more ended at once than the feed keeps."""
        lost, self._lost = self._lost, []
        return lost

    def of(self, stream: LiveStream, now: int) -> RowSource:
        """What to send about a stream that runs here, or has just ended."""
        state = _state_of(stream, now)
        if self._told.get(stream.id) == state:
            return RowSource(stream.id, now, _tail_of(stream))
        self._told[stream.id] = state
        return whole(stream, now)


def whole(stream: LiveStream, now: int) -> RowSource:
    """A whole row."""
    counts = counts_of(stream.times.received_at, now, stream.ended_at)
    view = view_of(short_entries_of(stream, ASKED_CHARACTERS))
    if stream.calls:
        marked = [
            _mark(call, now, goes_on=not stream.ended_at and call is stream.calls[-1])
            for call in stream.calls[-MOST_CALLS:]
        ]
        view = structs.replace(view, calls=marked, call_count=len(stream.calls))
    return RowSource(stream.id, now, _tail_of(stream), view, counts)


def _mark(call: LiveStream, now: int, *, goes_on: bool) -> CallMark:
    """The state of a run's call. One that let tools run counts as running as long as it is the last one."""
    view = view_of(short_entries_of(call, 0))
    state = marks.RUNNING if goes_on and tools_run(view) else view.settled_state(now)
    return CallMark(call.id, call.part, state.word, state.css)


def _second_of(stream: LiveStream, now: int) -> int:
    """Each row's seconds begin at a different moment, so that not all are rendered at once; a finished one's stop."""
    return 0 if stream.ended_at else (now + stream.id.int % SECOND) // SECOND


def _state_of(stream: LiveStream, now: int) -> tuple[object, ...]:
    """What a row shows besides its text, in short: while it is the same, only the text can have changed.

    Minor changes, such as a block's length or a name that comes late, are shown with the next whole row.
    """
    context = stream.context
    holds = [(hold.ended_at, hold.until, hold.asks, is_lasting(hold, now)) for hold in context.holds.values()]
    is_stalled = now - _quiet_since(stream) > STALLED_US
    blocks, verdicts = len(stream.state.blocks), len(context.judgements)
    calls = len(stream.calls), sum(call.ended_at is not None for call in stream.calls)
    return _second_of(stream, now), stream.ended_at, blocks, verdicts, holds, is_stalled, calls


def _quiet_since(stream: LiveStream) -> int:
    return stream.times.last_received_at or stream.requested_at


def _tail_of(stream: LiveStream) -> Tail:
    for block in reversed(stream.state.blocks):
        if block.length:
            ending = block.ending(TAIL_CHARACTERS)
            name = (block.name or block.label)[:NAME_CHARACTERS]
            return Tail(block.kind, name, ending, _quiet_since(stream), stream.ended_at)
    return Tail(None, "", "", _quiet_since(stream), stream.ended_at)
