"""The policy chain: judges blocks, holds what waits for a verdict, releases or rewrites it in order."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.composer import Composer
from streamviz.core.events import (
    BlockDelta,
    BlockKind,
    BlockStarted,
    StreamEvent,
    StreamFinished,
)
from streamviz.core.policy import (
    ActivePolicy,
    Decision,
    Hold,
    Judgement,
    Mode,
    StreamingContext,
    Verdict,
)


class _Item(NamedTuple):
    """A chunk on its way to the client; at the end of input there are events with no chunk."""

    chunk: Chunk | None
    events: Sequence[StreamEvent]


class PolicyChain:
    """Runs a stream's policies over it, in their order.

    A block is judged once it can no longer grow. From the first chunk of a held block on, everything waits, so that
    order is kept; what was allowed then goes out as upstream's own bytes. From the first chunk of a denied block on,
    all is composed anew from events: providers repeat a call in later chunks, in fields that nobody reads.
    """

    def __init__(self, policies: Sequence[ActivePolicy], composer: Composer) -> None:
        self._policies = policies
        self._enforcing = [active for active in policies if active.mode is Mode.ENFORCE]
        self._composer = composer
        self._pending: deque[_Item] = deque()
        self._undecided: set[int] = set()
        self._denied: dict[int, tuple[ActivePolicy, Verdict]] = {}
        self._calls: dict[int, int] = {}
        self._denied_calls: dict[int, int] = {}
        self._is_rewriting = False
        self._last_intervening = ""

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        """Called once a chunk, after `state` has taken it in; with None once more at the end of input."""
        for event in state.events:
            if isinstance(event, BlockStarted):
                self._hold(state.blocks[event.ordinal], context)
        for block in state.just_sealed:
            self._judge(block, context)
        if chunk is not None or state.events:
            self._pending.append(_Item(chunk, state.events))
        self._release(context)

    def _hold(self, block: StreamBlock, context: StreamingContext) -> None:
        if block.kind is BlockKind.TOOL_CALL:
            self._calls[block.choice] = self._calls.get(block.choice, 0) + 1
        holders = tuple(active.name for active in self._enforcing if _holds(active, block))
        if holders:
            self._undecided.add(block.ordinal)
            context.holds[block.ordinal] = Hold(context.now(), holders)

    def _judge(self, block: StreamBlock, context: StreamingContext) -> None:
        for active in self._policies:
            judgement = _judge(active, block, context)
            if judgement is None:
                continue
            context.judgements.append(judgement)
            # What nobody held the client has: a verdict against it is recorded and changes nothing.
            is_held = block.ordinal in self._undecided
            if is_held and active.mode is Mode.ENFORCE and judgement.verdict.decision is not Decision.ALLOW:
                self._deny(block, active, judgement, context)
                break
        self._undecided.discard(block.ordinal)

    def _deny(self, block: StreamBlock, active: ActivePolicy, judgement: Judgement, context: StreamingContext) -> None:
        self._denied[block.ordinal] = (active, judgement.verdict)
        hold = context.holds[block.ordinal]
        hold.is_denied, hold.released_at = True, context.now()
        if block.kind is BlockKind.TOOL_CALL:
            self._denied_calls[block.choice] = self._denied_calls.get(block.choice, 0) + 1

    def _release(self, context: StreamingContext) -> None:
        while self._pending and not self._waits(self._pending[0].events):
            item = self._pending.popleft()
            if self._is_changed(item.events):
                self._send_changed(item, context)
            else:
                self._composer.passed(item.events, item.chunk)
                if item.chunk is not None:
                    context.send(item.chunk)
            if context.holds:
                self._mark_released(item.events, context)

    def _waits(self, events: Iterable[StreamEvent]) -> bool:
        if not self._undecided:
            return False
        return any(
            isinstance(event, BlockStarted | BlockDelta) and event.ordinal in self._undecided for event in events
        )

    def _is_changed(self, events: Iterable[StreamEvent]) -> bool:
        if self._denied and not self._is_rewriting:
            self._is_rewriting = any(
                isinstance(event, BlockStarted) and event.ordinal in self._denied for event in events
            )
        return self._is_rewriting

    def _corrected(self, event: StreamFinished) -> StreamFinished:
        denied = self._denied_calls.get(event.choice, 0)
        if denied and denied == self._calls.get(event.choice, 0):
            reason = self._composer.finish_without_calls.get(event.reason, event.reason)
            if reason != event.reason:
                return StreamFinished(reason, event.choice)
        return event

    def _send_changed(self, item: _Item, context: StreamingContext) -> None:
        if item.chunk is not None and self._composer.keeps(item.chunk):
            context.send(item.chunk)
            return
        changed: list[StreamEvent] = []
        for event in item.events:
            changed += self._change(event)
        for raw in self._composer.compose(changed):
            context.send_made(raw, self._last_intervening)

    def _change(self, event: StreamEvent) -> list[StreamEvent]:
        match event:
            case BlockStarted(ordinal=ordinal) if ordinal in self._denied:
                active, verdict = self._denied[ordinal]
                self._last_intervening = active.name
                replacement = BlockStarted(ordinal, BlockKind.CONTENT, event.choice)
                return [replacement, BlockDelta(ordinal, verdict.text or f"[Blocked by policy {active.name}.]")]
            case BlockDelta(ordinal=ordinal) if ordinal in self._denied:
                return []
            case StreamFinished():
                return [self._corrected(event)]
            case _:
                return [event]

    def _mark_released(self, events: Iterable[StreamEvent], context: StreamingContext) -> None:
        for event in events:
            if isinstance(event, BlockStarted):
                hold = context.holds.get(event.ordinal)
                if hold is not None and hold.released_at is None:
                    hold.released_at = context.now()


def _holds(active: ActivePolicy, block: StreamBlock) -> bool:
    """A policy that fails to say holds, unless it fails open."""
    try:
        return active.policy.holds(block)
    except Exception:
        return not active.fail_open


def _judge(active: ActivePolicy, block: StreamBlock, context: StreamingContext) -> Judgement | None:
    began = context.now()
    failure = ""
    try:
        verdict = active.policy.on_block_complete(block, context)
        if verdict is not None and not isinstance(verdict, Verdict):
            raise TypeError(f"a policy gives a Verdict or None, not {type(verdict).__name__}")
    except Exception as error:  # A policy may be anybody's code: what it raises is its failure, never the stream's.
        failure = f"{type(error).__name__}: {error}"
        decision = Decision.ALLOW if active.fail_open else Decision.DENY
        verdict = Verdict(decision, "The policy failed.", f"[Blocked by policy {active.name}: it failed.]")
    if verdict is None:
        return None
    at = context.now()
    return Judgement(active, block.ordinal, verdict, at, at - began, failure)
