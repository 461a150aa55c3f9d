"""Changing blocks as verdicts say: upstream's events in, those that the client gets out."""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from streamviz.core.blocks import StreamBlock
from streamviz.core.call_runners import Runner, runner_of
from streamviz.core.composer import Composer
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
)
from streamviz.core.policy import ActivePolicy
from streamviz.core.running import RunningText
from streamviz.core.verdicts import Decision, Verdict


class Change(NamedTuple):
    """What becomes of a block that was judged: `verdict` by `policy`; `block` is its replacement."""

    policy: ActivePolicy
    verdict: Verdict
    block: StreamBlock


class Rewriting:
    """Turns upstream's events into those for the client; each is given once, in upstream's order.

    `running` are the texts that go out piece by piece, `changes` what becomes of blocks that were judged whole, both by
    ordinal. `edited` are the blocks that went out differently from how upstream sent them, `started` all that began,
    `finished` the choices that ended. `origin` is the policy that last changed something.
    """

    def __init__(self, composer: Composer) -> None:
        self.running: dict[int, RunningText] = {}
        self.changes: dict[int, Change] = {}
        self.edited: set[int] = set()
        self.started: set[int] = set()
        self.finished: set[int] = set()
        self.origin = ""
        self._composer = composer
        # By choice, and by who runs them.
        self._calls: Counter[tuple[int, Runner]] = Counter()
        self._denied_calls: Counter[tuple[int, Runner]] = Counter()

    def has_begun(self, event: StreamEvent) -> bool:
        """Whether the beginning of the block that an event is about came through here."""
        return not isinstance(event, BlockDelta | BlockCompleted | BlockSealed) or event.ordinal in self.started

    def text_in(self, events: Sequence[StreamEvent]) -> dict[int, int]:
        """How many characters of each running text there are in `events`."""
        found: Counter[int] = Counter()
        for event in events:
            if isinstance(event, BlockDelta) and event.ordinal in self.running:
                found[event.ordinal] += len(event.text)
        return found

    def is_changed(self, events: Sequence[StreamEvent]) -> bool:
        """Whether the client gets something different in place of these."""
        if not self.changes and not self.running:
            return False
        is_started = any(isinstance(event, BlockStarted) and event.ordinal in self.changes for event in events)
        return is_started or bool(self._changed_texts(events))

    def touched(self, events: Sequence[StreamEvent]) -> Set[int]:
        """The blocks that events are about and that verdicts change."""
        about = (BlockStarted, BlockDelta, BlockCompleted, BlockSealed)
        ordinals = {event.ordinal for event in events if isinstance(event, about)}
        edited = {ordinal for ordinal in ordinals if ordinal in self.edited or ordinal in self.changes}
        return edited | self._changed_texts(events)

    def passed(self, events: Iterable[StreamEvent]) -> None:
        """Note that these went out as they came."""
        for event in events:
            match event:
                case BlockStarted():
                    self._count(event)
                case BlockDelta() if self.running and (running := self.running.get(event.ordinal)) is not None:
                    running.take(len(event.text))
                case BlockSealed() if self.running:
                    self.running.pop(event.ordinal, None)
                case StreamFinished():
                    self.finished.add(event.choice)
                case _:
                    pass

    def halt_at(self, event: StreamEvent) -> tuple[ActivePolicy, Verdict] | None:
        """The policy that ends the stream before this event is out, and its verdict, if one does."""
        match event:
            case BlockStarted(ordinal=ordinal) if (change := self.changes.get(ordinal)) is not None:
                is_halt = change.verdict.decision is Decision.HALT
                return (change.policy, change.verdict) if is_halt else None
            case BlockDelta(ordinal=ordinal) if (running := self.running.get(ordinal)) is not None:
                return running.halted_by if running.released < len(event.text) else None
            case _:
                return None

    def changed(self, event: StreamEvent) -> list[StreamEvent]:
        """The events that the client gets in place of this one."""
        match event:
            case BlockStarted(ordinal=ordinal):
                self._count(event)
                change = self.changes.get(ordinal)
                return [event] if change is None else self._changed_block(event, change)
            case BlockDelta(ordinal=ordinal) if ordinal in self.changes or ordinal not in self.started:
                return []
            case BlockDelta(ordinal=ordinal) if (running := self.running.get(ordinal)) is not None:
                return self._changed_delta(event, running)
            case BlockSealed(ordinal=ordinal):
                self.running.pop(ordinal, None)
                return [event]
            case StreamFinished():
                self.finished.add(event.choice)
                return [self._corrected(event)]
            case _:
                return [event]

    def cut_short(self, event: BlockDelta) -> BlockDelta:
        """What may still go out of a running text that ends here."""
        self.edited.add(event.ordinal)
        return BlockDelta(event.ordinal, self.running[event.ordinal].take_rest())

    def _changed_texts(self, events: Sequence[StreamEvent]) -> set[int]:
        """The running texts that go out changed in `events`, which can have many deltas of one."""
        found = self.text_in(events).items() if self.running else ()
        return {ordinal for ordinal, length in found if self.running[ordinal].is_changed_within(length)}

    def _changed_block(self, event: BlockStarted, change: Change) -> list[StreamEvent]:
        self.origin = change.policy.name
        is_denied = change.verdict.decision is not Decision.REPLACE
        if event.kind is BlockKind.MEDIA or (is_denied and event.kind is BlockKind.TOOL_CALL):
            self._composer.denied(event)
        if is_denied:
            if event.kind is BlockKind.TOOL_CALL:
                self._denied_calls[event.choice, runner_of(event.label)] += 1
            text = change.verdict.text or f"[Denied by policy {change.policy.name}.]"
            started = BlockStarted(event.ordinal, BlockKind.CONTENT, event.choice, event.index)
            return [started, BlockDelta(event.ordinal, text)]
        block = change.block
        name = block.name or event.name
        # A signature was over what upstream said, so it does not go with the new text.
        started = BlockStarted(event.ordinal, event.kind, event.choice, event.index, block.id, name, event.label)
        return [started, BlockDelta(event.ordinal, block.text)]

    def _changed_delta(self, event: BlockDelta, running: RunningText) -> list[StreamEvent]:
        text, is_changed = running.take(len(event.text))
        if is_changed:
            self.edited.add(event.ordinal)
            self.origin = running.changed_by or self.origin
        signature = "" if running.changed_by else event.signature
        if text == event.text and signature == event.signature:
            return [event]
        return [BlockDelta(event.ordinal, text, event.id, event.name, signature)]

    def _count(self, event: BlockStarted) -> None:
        self.started.add(event.ordinal)
        if event.kind is BlockKind.TOOL_CALL:
            self._calls[event.choice, runner_of(event.label)] += 1

    def _corrected(self, event: StreamFinished) -> StreamFinished:
        reason = event.reason
        if self._gets_none(event.choice, Runner.CLIENT):
            reason = self._composer.finish_without_calls.get(reason, reason)
        if self._gets_none(event.choice, *Runner):
            reason = self._composer.finish_without_any.get(reason, reason)
        return event if reason == event.reason else StreamFinished(reason, event.choice)

    def _gets_none(self, choice: int, *runners: Runner) -> bool:
        """Whether there were calls for these to run, and all were denied."""
        said, denied = (sum(calls[choice, each] for each in runners) for calls in (self._calls, self._denied_calls))
        return 0 < said == denied
