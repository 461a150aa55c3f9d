"""What waits for verdicts, in upstream's order, and how it goes out: as upstream's own bytes, or rewritten."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.composer import Composer
from streamviz.core.context import Frame
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
)
from streamviz.core.frame_writer import FrameWriter
from streamviz.core.instead import Instead, cut_off, note
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import ActivePolicy
from streamviz.core.rewriting import Change, Rewriting
from streamviz.core.verdicts import Verdict


class _Item(NamedTuple):
    """A chunk on its way to the client, or a frame that a policy made; at the end of input, only events.

    `halt` is the policy that ends the stream here, before anything else of the item.
    """

    chunk: Chunk | None
    events: Sequence[StreamEvent] = ()
    made: Frame | None = None
    halt: tuple[ActivePolicy, Verdict] | None = None


class Release:
    """Keeps chunks in order until they may go out.

    From the first chunk of a held block on, everything waits, so that order is kept; what is then allowed goes out as
    upstream's own bytes. From the first chunk that a verdict changes, everything goes through the composer: providers
    repeat a call, or a text, in later chunks, in fields that nobody reads. What no verdict changes is carried over from
    upstream's own frames, the rest is composed from events.
    """

    def __init__(self, composer: Composer) -> None:
        self.undecided: set[int] = set()
        self._rewriting = Rewriting(composer)
        self.running = self._rewriting.running
        self._composer = composer
        self._writing = FrameWriter(composer)
        self._pending: deque[_Item] = deque()
        # The characters of each block that wait, how many events of the first item were seen, what texts it needs.
        self._waiting: Counter[int] = Counter()
        self._looked_at = 0
        self._wanted: dict[int, int] | None = None

    @property
    def begun(self) -> Set[int]:
        """The blocks that have begun to go out, or whose replacements have."""
        return self._rewriting.started

    @property
    def is_holding(self) -> bool:
        """Whether anything waits."""
        return bool(self._pending)

    def change(self, ordinal: int, change: Change) -> None:
        """Note that a block that was undecided is not to go out as it is."""
        self._rewriting.changes[ordinal] = change

    def waiting_text(self, ordinal: int) -> int:
        """How much of a block (characters) the client does not have yet."""
        return self._waiting[ordinal]

    def add(self, chunk: Chunk | None, events: Sequence[StreamEvent], context: ChainContext) -> None:
        """Queue a chunk with its events, or send it at once: nearly always it is text that need not wait."""
        if (chunk is None and not events) or (not self._pending and self._pass_text(chunk, events, context)):
            return
        self._pending.append(_Item(chunk, events))
        for event in events:
            if isinstance(event, BlockDelta):
                self._waiting[event.ordinal] += len(event.text)

    def add_made(self, frame: Frame) -> None:
        """Queue bytes that a policy made."""
        self._pending.append(_Item(None, made=frame))

    def add_halt(self, active: ActivePolicy, verdict: Verdict) -> None:
        """Queue the end of the stream."""
        self._pending.append(_Item(None, halt=(active, verdict)))

    def leave_out(self, spoilt: Set[int]) -> None:
        """Drop those of these blocks that wait for a verdict, as they cannot be judged as the client would have them,
        and everything that waits from where the first of them begins."""
        left_out = self.undecided & spoilt
        self.undecided -= left_out
        kept = list(takewhile(lambda item: not _is_about(item.events, left_out), self._pending))
        self._pending = deque(kept)

    def pump(self, state: StreamState, context: ChainContext) -> None:
        """Send all that need not wait."""
        while self._pending and not context.is_terminated:
            item = self._pending[0]
            if self._pass_text(item.chunk, item.events, context):
                self._take_first()
                continue
            if self._waits(item.events):
                return
            self._take_first()
            if item.chunk is None and item.events:
                # The client never got a chunk that broke the stream, so what the end says about its blocks is dropped.
                item = item._replace(events=[event for event in item.events if self._rewriting.has_begun(event)])
            if item.halt is not None:
                self._halt(*item.halt, [], None, state, context)
            elif item.made is not None:
                context.outbox.append(item.made)
            elif self._writing.has_begun or self._rewriting.is_changed(item.events):
                self._send_changed(item, state, context)
            else:
                self._send_untouched(item, context)
            if context.holds:
                _end_holds(item.events, context)

    def _pass_text(self, chunk: Chunk | None, events: Sequence[StreamEvent], context: ChainContext) -> bool:
        """Send the next chunk if it is a piece of running text and all of it may go out as it came."""
        if chunk is None or len(events) != 1 or self._writing.has_begun:
            return False
        event = events[0]
        if not isinstance(event, BlockDelta) or (running := self.running.get(event.ordinal)) is None:
            return False
        if running.halted_by is not None or not running.take_plain(len(event.text)):
            return False
        self._writing.tell_passed(events, chunk)
        context.send(chunk)
        return True

    def _take_first(self) -> None:
        """Take the first item out of the queue."""
        item = self._pending.popleft()
        self._looked_at, self._wanted = 0, None
        for event in item.events:
            if isinstance(event, BlockDelta):
                self._waiting[event.ordinal] -= len(event.text)

    def _waits(self, events: Sequence[StreamEvent]) -> bool:
        """Whether the first item waits. A decided block stays decided, so each event is looked at once."""
        if self.undecided:
            while self._looked_at < len(events):
                event = events[self._looked_at]
                if isinstance(event, BlockStarted | BlockDelta) and event.ordinal in self.undecided:
                    return True
                self._looked_at += 1
        return bool(self.running) and self._waits_for_text(events)

    def _waits_for_text(self, events: Sequence[StreamEvent]) -> bool:
        if self._wanted is None:
            self._wanted = self._rewriting.text_in(events)
        return any(
            self.running[ordinal].released < length and self.running[ordinal].halted_by is None
            for ordinal, length in self._wanted.items()
        )

    def _send_untouched(self, item: _Item, context: ChainContext) -> None:
        self._rewriting.passed(item.events)
        self._writing.tell_passed(item.events, item.chunk)
        if item.chunk is not None:
            context.send(item.chunk)

    def _send_changed(self, item: _Item, state: StreamState, context: ChainContext) -> None:
        self._writing.begin()
        if item.chunk is not None and self._composer.keeps(item.chunk):
            context.send(item.chunk)
            return
        touched = self._rewriting.touched(item.events)
        changed: list[StreamEvent] = []
        for event in item.events:
            if (halt := self._rewriting.halt_at(event)) is not None:
                if isinstance(event, BlockDelta):
                    changed.append(self._rewriting.cut_short(event))
                self._note(changed, item.events, state, context)
                self._halt(*halt, changed, event, state, context)
                return
            changed += self._rewriting.changed(event)
        self._note(changed, item.events, state, context)
        chunk, origin = item.chunk, self._rewriting.origin
        if chunk is None or not self._writing.carry(chunk, item.events, changed, touched, origin, context):
            self._writing.compose(changed, origin, context)

    def _note(
        self, said: Iterable[StreamEvent], of: Iterable[StreamEvent], state: StreamState, context: ChainContext
    ) -> None:
        """Note what goes out in place of blocks, some of whose text may have gone out as it came."""
        edited = self._rewriting.edited
        coming: Counter[int] = Counter()
        for event in of:
            if isinstance(event, BlockDelta) and event.ordinal in edited:
                coming[event.ordinal] += len(event.text)
        before = {
            ordinal: state.blocks[ordinal].text[: state.blocks[ordinal].length - self._waiting[ordinal] - length]
            for ordinal, length in coming.items()
            if ordinal not in context.instead
        }
        note(context.instead, said, self._rewriting.changes.keys(), edited, before, state.blocks)

    def _halt(
        self,
        active: ActivePolicy,
        verdict: Verdict,
        before: list[StreamEvent],
        at: StreamEvent | None,
        state: StreamState,
        context: ChainContext,
    ) -> None:
        """End the stream as its format allows, with last words that name the policy, in the choice of the event that it
        is halted `at`. A stream that has ended can no longer be halted."""
        choices = {block.choice for block in state.blocks} | {0}
        left = sorted(choices - self._rewriting.finished)
        finish = [StreamFinished(self._composer.finish_halted, choice) for choice in left]
        if not finish:
            return
        self._writing.begin()
        self._rewriting.origin = active.name
        started = self._rewriting.started
        ordinal = max(started, default=-1) + 1
        text = verdict.text or f"[Halted by policy {active.name}.]"
        choice = _choice_of(at, state)
        choice = choice if choice in left else left[0]
        last: list[StreamEvent] = [BlockStarted(ordinal, BlockKind.CONTENT, choice), BlockDelta(ordinal, text)]
        cut_off(context.instead, state.blocks, started, self._waiting)
        context.instead[ordinal] = Instead(BlockKind.CONTENT, [text], choice)
        said: list[StreamEvent] = [*before, *last, BlockCompleted(ordinal), BlockSealed(ordinal), *finish]
        _end_holds(before, context)
        self._writing.compose(said, active.name, context)
        self._writing.stop(active.name, context)
        context.halted_by = active.name
        context.terminate()
        context.end_holds()


def _is_about(events: Iterable[StreamEvent], ordinals: Set[int]) -> bool:
    return any(isinstance(event, BlockStarted | BlockDelta) and event.ordinal in ordinals for event in events)


def _choice_of(event: StreamEvent | None, state: StreamState) -> int | None:
    """The choice that an event about a block is in."""
    return state.blocks[event.ordinal].choice if isinstance(event, BlockStarted | BlockDelta) else None


def _end_holds(events: Iterable[StreamEvent], context: ChainContext) -> None:
    for event in events:
        if isinstance(event, BlockStarted):
            hold = context.holds.get(event.ordinal)
            if hold is not None and hold.ended_at is None:
                hold.ended_at = context.now()
                hold.released_at = None if hold.is_denied else hold.ended_at
