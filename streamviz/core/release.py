"""What waits for verdicts, in upstream's order, and how it goes out: as upstream's own bytes, or rewritten."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.calls import Runner, runner_of
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
from streamviz.core.instead import Instead, cut_off, note
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import ActivePolicy
from streamviz.core.running import RunningText
from streamviz.core.verdicts import Decision, Verdict


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
    as upstream's own bytes. From the first chunk that a verdict changes on the composer has its hand in all of it:
    providers repeat a call, or a text, in later chunks, in fields that nobody reads. What no verdict changes it carries
    over from upstream's own frames, the rest is composed from events.
    """

    def __init__(self, composer: Composer) -> None:
        self.undecided: set[int] = set()
        self.running: dict[int, RunningText] = {}
        self._composer = composer
        self._pending: deque[_Item] = deque()
        # How much of each block is in what waits, how far the first item was looked through, and what it wants.
        self._waiting: Counter[int] = Counter()
        self._looked_at = 0
        self._wanted: dict[int, int] | None = None
        self._changes: dict[int, Change] = {}
        self._is_rewriting = False
        self._lost: Exception | None = None
        self._origin = ""
        self._started: set[int] = set()
        self._calls: dict[int, int] = {}
        self._denied_calls: dict[int, int] = {}
        self._finished: set[int] = set()
        # The blocks that the client gets otherwise than upstream sent them, as far as they have gone out.
        self._edited: set[int] = set()

    @property
    def is_holding(self) -> bool:
        """Whether anything waits."""
        return bool(self._pending)

    def change(self, ordinal: int, change: Change) -> None:
        """The block that was undecided is not to go out as it is."""
        self._changes[ordinal] = change

    def waiting_text(self, ordinal: int) -> int:
        """How much of a block (characters) the client does not have yet."""
        return self._waiting[ordinal]

    def add(self, chunk: Chunk | None, events: Sequence[StreamEvent], context: ChainContext) -> None:
        """A chunk with what it says, behind all that waits; as nearly always it is text that need not, and goes."""
        if (chunk is None and not events) or (not self._pending and self._pass_text(chunk, events, context)):
            return
        self._pending.append(_Item(chunk, events))
        for event in events:
            if isinstance(event, BlockDelta):
                self._waiting[event.ordinal] += len(event.text)

    def add_made(self, frame: Frame) -> None:
        """Bytes that a policy made, behind all that waits."""
        self._pending.append(_Item(None, made=frame))

    def add_halt(self, active: ActivePolicy, verdict: Verdict) -> None:
        """The end of the stream, behind all that waits."""
        self._pending.append(_Item(None, halt=(active, verdict)))

    def leave_out(self, spoilt: Set[int]) -> None:
        """Of these blocks, those that wait for a verdict cannot be judged as the client would have them: it gets
        neither them nor what waits behind where the first of them begins."""
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
                # A chunk that broke the stream came to nobody's ears: what the end says of its blocks means nothing.
                item = item._replace(events=[event for event in item.events if self._has_begun(event)])
            if item.halt is not None:
                self._halt(*item.halt, [], state, context)
            elif item.made is not None:
                context.outbox.append(item.made)
            elif self._is_rewriting or ((self._changes or self.running) and self._is_changed(item.events)):
                self._send_changed(item, state, context)
            else:
                self._send_untouched(item, context)
            if context.holds:
                _end_holds(item.events, context)

    def _pass_text(self, chunk: Chunk | None, events: Sequence[StreamEvent], context: ChainContext) -> bool:
        """Send the next chunk where it is a piece of running text and all of that may go as it came."""
        if chunk is None or len(events) != 1 or self._is_rewriting:
            return False
        event = events[0]
        if not isinstance(event, BlockDelta) or (running := self.running.get(event.ordinal)) is None:
            return False
        if running.halted_by is not None or not running.take_plain(len(event.text)):
            return False
        self._tell_passed(events, chunk)
        context.send(chunk)
        return True

    def _take_first(self) -> None:
        """The first item waits no longer."""
        item = self._pending.popleft()
        self._looked_at, self._wanted = 0, None
        for event in item.events:
            if isinstance(event, BlockDelta):
                self._waiting[event.ordinal] -= len(event.text)

    def _waits(self, events: Sequence[StreamEvent]) -> bool:
        """Whether the first item waits. A block that is decided stays so: each event is looked at once."""
        if self.undecided:
            while self._looked_at < len(events):
                event = events[self._looked_at]
                if isinstance(event, BlockStarted | BlockDelta) and event.ordinal in self.undecided:
                    return True
                self._looked_at += 1
        return bool(self.running) and self._waits_for_text(events)

    def _waits_for_text(self, events: Sequence[StreamEvent]) -> bool:
        if self._wanted is None:
            self._wanted = self._text_in(events)
        return any(
            self.running[ordinal].released < length and self.running[ordinal].halted_by is None
            for ordinal, length in self._wanted.items()
        )

    def _has_begun(self, event: StreamEvent) -> bool:
        """Whether the beginning of the block that an event is about came by here."""
        return not isinstance(event, BlockDelta | BlockCompleted | BlockSealed) or event.ordinal in self._started

    def _text_in(self, events: Sequence[StreamEvent]) -> dict[int, int]:
        """How many characters of each running text there are in `events`."""
        found: Counter[int] = Counter()
        for event in events:
            if isinstance(event, BlockDelta) and event.ordinal in self.running:
                found[event.ordinal] += len(event.text)
        return found

    def _is_changed(self, events: Sequence[StreamEvent]) -> bool:
        is_started = any(isinstance(event, BlockStarted) and event.ordinal in self._changes for event in events)
        return is_started or bool(self._changed_texts(events))

    def _changed_texts(self, events: Sequence[StreamEvent]) -> set[int]:
        """The running texts that go out otherwise in `events`; an item can have many deltas of one."""
        found = self._text_in(events).items() if self.running else ()
        return {ordinal for ordinal, length in found if self.running[ordinal].is_changed_within(length)}

    def _send_untouched(self, item: _Item, context: ChainContext) -> None:
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
        self._tell_passed(item.events, item.chunk)
        if item.chunk is not None:
            context.send(item.chunk)

    def _send_changed(self, item: _Item, state: StreamState, context: ChainContext) -> None:
        self._begin_to_write()
        if item.chunk is not None and self._composer.keeps(item.chunk):
            context.send(item.chunk)
            return
        touched = self._touched(item.events)
        changed: list[StreamEvent] = []
        for event in item.events:
            if (halt := self._halt_at(event)) is not None:
                if isinstance(event, BlockDelta):
                    self._edited.add(event.ordinal)
                    changed.append(BlockDelta(event.ordinal, self.running[event.ordinal].take_rest()))
                self._note(changed, item.events, state, context)
                self._halt(*halt, changed, state, context)
                return
            changed += self._change(event)
        self._note(changed, item.events, state, context)
        if not self._carry(item, changed, touched, context):
            self._compose(changed, context)

    def _note(
        self, said: Iterable[StreamEvent], of: Iterable[StreamEvent], state: StreamState, context: ChainContext
    ) -> None:
        """Note what goes out in place of blocks, of which some may have gone out as it came."""
        coming: Counter[int] = Counter()
        for event in of:
            if isinstance(event, BlockDelta) and event.ordinal in self._edited:
                coming[event.ordinal] += len(event.text)
        before = {
            ordinal: state.blocks[ordinal].text[: state.blocks[ordinal].length - self._waiting[ordinal] - length]
            for ordinal, length in coming.items()
            if ordinal not in context.instead
        }
        note(context.instead, said, self._changes.keys(), self._edited, before, state.blocks)

    def _tell_passed(self, events: Sequence[StreamEvent], chunk: Chunk | None) -> None:
        """Tell the composer of what it did not write. If it fails, that only matters once it is to write."""
        try:
            self._composer.passed(events, chunk)
        except Exception as error:
            self._lost = self._lost or error

    def _begin_to_write(self) -> None:
        """From here on the composer writes. Raises what it failed at before."""
        if self._lost is not None:
            raise self._lost
        self._is_rewriting = True

    def _touched(self, events: Sequence[StreamEvent]) -> Set[int]:
        """The blocks that events are about and that verdicts change."""
        about = (BlockStarted, BlockDelta, BlockCompleted, BlockSealed)
        edited = {event.ordinal for event in events if isinstance(event, about) and self._is_edited(event.ordinal)}
        return edited | self._changed_texts(events)

    def _is_edited(self, ordinal: int) -> bool:
        return ordinal in self._edited or ordinal in self._changes

    def _carry(self, item: _Item, said: Sequence[StreamEvent], touched: Set[int], context: ChainContext) -> bool:
        """Send upstream's own frames where the composer can."""
        chunk = item.chunk
        if chunk is None:
            return False
        composer = self._composer
        frames = composer.carry_part(chunk, item.events, said, touched) if touched else composer.carry(chunk, said)
        for raw in frames or ():
            if raw is chunk.raw:
                context.send(chunk)
            else:
                context.send_made(raw, self._origin)
        return frames is not None

    def _compose(self, events: Sequence[StreamEvent], context: ChainContext) -> None:
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
                self._composer.denied(event)
            if _is_for_client(event):
                self._denied_calls[event.choice] = self._denied_calls.get(event.choice, 0) + 1
            text = change.verdict.text or f"[Denied by policy {change.policy.name}.]"
            started = BlockStarted(event.ordinal, BlockKind.CONTENT, event.choice, event.index)
            return [started, BlockDelta(event.ordinal, text)]
        block = change.block
        name = block.name or event.name
        # A signature was over what upstream said, so it does not go with what is said now.
        started = BlockStarted(event.ordinal, event.kind, event.choice, event.index, block.id, name, event.label)
        return [started, BlockDelta(event.ordinal, block.text)]

    def _changed_delta(self, event: BlockDelta, running: RunningText) -> list[StreamEvent]:
        text, is_changed = running.take(len(event.text))
        if is_changed:
            self._edited.add(event.ordinal)
            self._origin = running.changed_by or self._origin
        signature = "" if running.changed_by else event.signature
        if text == event.text and signature == event.signature:
            return [event]
        return [BlockDelta(event.ordinal, text, event.id, event.name, signature)]

    def _count(self, event: BlockStarted) -> None:
        self._started.add(event.ordinal)
        if _is_for_client(event):
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
        context: ChainContext,
    ) -> None:
        """End the stream legally, with a last word that names the policy. What has ended cannot be halted any more."""
        choices = {block.choice for block in state.blocks} | {0}
        finish = [StreamFinished(self._composer.finish_halted, choice) for choice in sorted(choices - self._finished)]
        if not finish:
            return
        self._begin_to_write()
        self._origin = active.name
        ordinal = max(self._started, default=-1) + 1
        text = verdict.text or f"[Halted by policy {active.name}.]"
        last: list[StreamEvent] = [BlockStarted(ordinal, BlockKind.CONTENT), BlockDelta(ordinal, text)]
        cut_off(context.instead, state.blocks, self._started, self._waiting)
        context.instead[ordinal] = Instead(BlockKind.CONTENT, [text])
        self._compose([*before, *last, BlockCompleted(ordinal), BlockSealed(ordinal), *finish], context)
        for raw in self._composer.stop():
            context.send_made(raw, active.name)
        context.halted_by = active.name
        context.terminate()
        context.end_holds()


def _is_about(events: Iterable[StreamEvent], ordinals: Set[int]) -> bool:
    return any(isinstance(event, BlockStarted | BlockDelta) and event.ordinal in ordinals for event in events)


def _is_for_client(event: BlockStarted) -> bool:
    """Whether it is a call that the client carries out: only such calls does a finish_reason announce."""
    return event.kind is BlockKind.TOOL_CALL and runner_of(event.label) is Runner.CLIENT


def _end_holds(events: Iterable[StreamEvent], context: ChainContext) -> None:
    for event in events:
        if isinstance(event, BlockStarted):
            hold = context.holds.get(event.ordinal)
            if hold is not None and hold.ended_at is None:
                hold.ended_at = context.now()
                hold.released_at = None if hold.is_denied else hold.ended_at
