"""What waits for verdicts, in upstream's order, and how it goes out: as upstream's own bytes, or written anew."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import OtherStreamBlock, StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.composer import Composer
from streamviz.core.context import Frame, StreamingContext
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
)
from streamviz.core.policy import ActivePolicy, Decision, Verdict
from streamviz.core.running import RunningText


class Change(NamedTuple):
    """What the client gets of a block that was judged: `verdict` by `policy`; `block` is what it was replaced by."""

    policy: ActivePolicy
    verdict: Verdict
    block: StreamBlock


class _Item(NamedTuple):
    """A chunk on its way to the client, or a frame that a policy made; at the end of input, events alone.

    `halt` is the policy that ends the stream here, before anything else of the item.
    """

    chunk: Chunk | None
    events: Sequence[StreamEvent] = ()
    made: Frame | None = None
    halt: tuple[ActivePolicy, Verdict] | None = None


class Release:
    """From the first chunk of a held block on, everything waits, so that order is kept; what was allowed then goes out
    as upstream's own bytes. From the first chunk that a verdict changes on, all is composed anew from events: providers
    repeat a call, or a text, in later chunks, in fields that nobody reads.
    """

    def __init__(self, composer: Composer) -> None:
        self.undecided: set[int] = set()
        self.running: dict[int, RunningText] = {}
        self._composer = composer
        self._pending: deque[_Item] = deque()
        self._changes: dict[int, Change] = {}
        self._is_rewriting = False
        self._origin = ""
        self._started: set[int] = set()
        self._calls: dict[int, int] = {}
        self._denied_calls: dict[int, int] = {}
        self._finished: set[int] = set()

    @property
    def is_holding(self) -> bool:
        """Whether anything waits."""
        return bool(self._pending)

    def change(self, ordinal: int, change: Change) -> None:
        """The block that was undecided is not to go out as it is."""
        self._changes[ordinal] = change

    def waiting_text(self, ordinal: int) -> int:
        """How much of a block (characters) the client does not have yet."""
        return sum(
            len(event.text)
            for item in self._pending
            for event in item.events
            if isinstance(event, BlockDelta) and event.ordinal == ordinal
        )

    def add(self, chunk: Chunk | None, events: Sequence[StreamEvent], context: StreamingContext) -> None:
        """A chunk with what it says, behind all that waits; as nearly always it is text that need not, and goes."""
        if (chunk is None and not events) or (not self._pending and self._pass_text(chunk, events, context)):
            return
        self._pending.append(_Item(chunk, events))

    def add_made(self, frame: Frame) -> None:
        """Bytes that a policy made, behind all that waits."""
        self._pending.append(_Item(None, made=frame))

    def add_halt(self, active: ActivePolicy, verdict: Verdict) -> None:
        """The end of the stream, behind all that waits."""
        self._pending.append(_Item(None, halt=(active, verdict)))

    def pump(self, state: StreamState, context: StreamingContext) -> None:
        """Send all that need not wait."""
        while self._pending and not context.is_terminated:
            item = self._pending[0]
            if self._pass_text(item.chunk, item.events, context):
                self._pending.popleft()
                continue
            if self._waits(item.events):
                return
            self._pending.popleft()
            if item.halt is not None:
                self._halt(*item.halt, [], state, context)
            elif item.made is not None:
                context.outbox.append(item.made)
            elif self._is_rewriting or ((self._changes or self.running) and self._is_changed(item.events)):
                self._send_changed(item, state, context)
            else:
                self._send_untouched(item, context)
            if context.holds:
                _mark_released(item.events, context)

    def _pass_text(self, chunk: Chunk | None, events: Sequence[StreamEvent], context: StreamingContext) -> bool:
        """Send the next chunk where it is a piece of running text and all of that may go as it came."""
        if chunk is None or len(events) != 1 or self._is_rewriting:
            return False
        event = events[0]
        if not isinstance(event, BlockDelta) or (running := self.running.get(event.ordinal)) is None:
            return False
        if running.halted_by is not None or not running.take_plain(len(event.text)):
            return False
        self._composer.passed(events, chunk)
        context.send(chunk)
        return True

    def _waits(self, events: Sequence[StreamEvent]) -> bool:
        if self.undecided and any(
            isinstance(event, BlockStarted | BlockDelta) and event.ordinal in self.undecided for event in events
        ):
            return True
        return bool(self.running) and self._waits_for_text(events)

    def _waits_for_text(self, events: Sequence[StreamEvent]) -> bool:
        wanted: dict[int, int] = {}
        for event in events:
            if isinstance(event, BlockDelta) and event.ordinal in self.running:
                wanted[event.ordinal] = wanted.get(event.ordinal, 0) + len(event.text)
        return any(
            self.running[ordinal].released < length and self.running[ordinal].halted_by is None
            for ordinal, length in wanted.items()
        )

    def _is_changed(self, events: Sequence[StreamEvent]) -> bool:
        wanted: dict[int, int] = {}
        for event in events:
            if isinstance(event, BlockStarted) and event.ordinal in self._changes:
                return True
            if isinstance(event, BlockDelta) and (running := self.running.get(event.ordinal)) is not None:
                # An item has more than one delta of a block where a whole answer came at once.
                wanted[event.ordinal] = wanted.get(event.ordinal, 0) + len(event.text)
                if running.is_changed_within(wanted[event.ordinal]):
                    return True
        return False

    def _send_untouched(self, item: _Item, context: StreamingContext) -> None:
        for event in item.events:
            match event:
                case BlockStarted():
                    self._count(event)
                case BlockDelta() if self.running and (running := self.running.get(event.ordinal)) is not None:
                    running.take(len(event.text))
                case BlockSealed() if self.running:
                    self.running.pop(event.ordinal, None)
                case StreamFinished():
                    self._finished.add(event.choice)
                case _:
                    pass
        self._composer.passed(item.events, item.chunk)
        if item.chunk is not None:
            context.send(item.chunk)

    def _send_changed(self, item: _Item, state: StreamState, context: StreamingContext) -> None:
        self._is_rewriting = True
        if item.chunk is not None and self._composer.keeps(item.chunk):
            context.send(item.chunk)
            return
        changed: list[StreamEvent] = []
        for event in item.events:
            if (halt := self._halt_at(event)) is not None:
                if isinstance(event, BlockDelta):
                    changed.append(BlockDelta(event.ordinal, self.running[event.ordinal].take_rest()))
                self._halt(*halt, changed, state, context)
                return
            changed += self._change(event)
        self._compose(changed, context)

    def _compose(self, events: Sequence[StreamEvent], context: StreamingContext) -> None:
        for raw in self._composer.compose(events):
            context.send_made(raw, self._origin)

    def _halt_at(self, event: StreamEvent) -> tuple[ActivePolicy, Verdict] | None:
        """By whom the stream ends before this event is out, where it does."""
        match event:
            case BlockStarted(ordinal=ordinal) if (change := self._changes.get(ordinal)) is not None:
                is_halt = change.verdict.decision is Decision.HALT
                return (change.policy, change.verdict) if is_halt else None
            case BlockDelta(ordinal=ordinal) if (running := self.running.get(ordinal)) is not None:
                return running.halted_by if running.released < len(event.text) else None
            case _:
                return None

    def _change(self, event: StreamEvent) -> list[StreamEvent]:
        match event:
            case BlockStarted(ordinal=ordinal):
                self._count(event)
                change = self._changes.get(ordinal)
                return [event] if change is None else self._changed_block(event, change)
            case BlockDelta(ordinal=ordinal) if ordinal in self._changes or ordinal not in self._started:
                return []
            case BlockDelta(ordinal=ordinal) if (running := self.running.get(ordinal)) is not None:
                return self._changed_delta(event, running)
            case BlockSealed(ordinal=ordinal):
                self.running.pop(ordinal, None)
                return [event]
            case StreamFinished():
                self._finished.add(event.choice)
                return [self._corrected(event)]
            case _:
                return [event]

    def _changed_block(self, event: BlockStarted, change: Change) -> list[StreamEvent]:
        self._origin = change.policy.name
        if change.verdict.decision is not Decision.REPLACE:
            if event.kind is BlockKind.TOOL_CALL:
                self._denied_calls[event.choice] = self._denied_calls.get(event.choice, 0) + 1
            text = change.verdict.text or f"[Denied by policy {change.policy.name}.]"
            return [BlockStarted(event.ordinal, BlockKind.CONTENT, event.choice), BlockDelta(event.ordinal, text)]
        block = change.block
        name = block.name if isinstance(block, ToolCallStreamBlock | OtherStreamBlock) else event.name
        # A signature was over what upstream said, so it does not go with what is said now.
        started = BlockStarted(event.ordinal, event.kind, event.choice, event.index, block.id, name, event.label)
        return [started, BlockDelta(event.ordinal, block.text)]

    def _changed_delta(self, event: BlockDelta, running: RunningText) -> list[StreamEvent]:
        text, is_changed = running.take(len(event.text))
        if is_changed and running.changed_by:
            self._origin = running.changed_by
        signature = "" if running.changed_by else event.signature
        if text == event.text and signature == event.signature:
            return [event]
        return [BlockDelta(event.ordinal, text, event.id, event.name, signature)]

    def _count(self, event: BlockStarted) -> None:
        self._started.add(event.ordinal)
        if event.kind is BlockKind.TOOL_CALL:
            self._calls[event.choice] = self._calls.get(event.choice, 0) + 1

    def _corrected(self, event: StreamFinished) -> StreamFinished:
        denied = self._denied_calls.get(event.choice, 0)
        if denied and denied == self._calls.get(event.choice, 0):
            reason = self._composer.finish_without_calls.get(event.reason, event.reason)
            if reason != event.reason:
                return StreamFinished(reason, event.choice)
        return event

    def _halt(
        self,
        active: ActivePolicy,
        verdict: Verdict,
        before: list[StreamEvent],
        state: StreamState,
        context: StreamingContext,
    ) -> None:
        """End the stream legally, with a last word that names the policy. What has ended cannot be halted any more."""
        choices = {block.choice for block in state.blocks} | {0}
        finish = [StreamFinished(self._composer.finish_halted, choice) for choice in sorted(choices - self._finished)]
        if not finish:
            return
        self._is_rewriting, self._origin = True, active.name
        ordinal = max(self._started, default=-1) + 1
        text = verdict.text or f"[Halted by policy {active.name}.]"
        last: list[StreamEvent] = [BlockStarted(ordinal, BlockKind.CONTENT), BlockDelta(ordinal, text)]
        self._compose([*before, *last, BlockCompleted(ordinal), BlockSealed(ordinal), *finish], context)
        for raw in self._composer.stop():
            context.send_made(raw, active.name)
        context.halted_by = active.name
        context.terminate()


def _mark_released(events: Iterable[StreamEvent], context: StreamingContext) -> None:
    for event in events:
        if isinstance(event, BlockStarted):
            hold = context.holds.get(event.ordinal)
            if hold is not None and hold.released_at is None:
                hold.released_at = context.now()
