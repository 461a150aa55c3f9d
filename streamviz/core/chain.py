"""The policy chain: runs a stream's policies over it and decides what goes out, and when."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.chunk_gate import ChunkGate
from streamviz.core.composer import Composer
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockCompleted, BlockDelta, BlockStarted, StreamEvent
from streamviz.core.judgements import Answer, Hold, Judgement, Subject
from streamviz.core.judging import Judging, checked, words
from streamviz.core.policy import ActivePolicy, Bounded, Consult, Decision, Mode, Policy, Verdict
from streamviz.core.release import Change, Release
from streamviz.core.running import RunningText, whole_verdict


class PolicyChain:
    """Runs a stream's policies over it, in their order.

    A block is judged once it can no longer grow. Judges of several blocks work side by side; what they ask is in the
    context's `questions`, and the driver brings each answer to `answer`. Running text is read as it comes and goes out
    as far as the rules let it.
    """

    def __init__(self, policies: Sequence[ActivePolicy], composer: Composer, within: Bounded | None = None) -> None:
        self._policies = policies
        self._enforcing = [active for active in policies if active.mode is Mode.ENFORCE]
        self._release = Release(composer)
        self._judgings: dict[int, Judging[StreamBlock]] = {}
        self._bounding = [active for active in policies if type(active.policy).on_held is not Policy.on_held]
        # Who bounds each held block that grows, the blocks that grew too much, and who has said so of which.
        self._bounds: dict[int, list[ActivePolicy]] = {}
        self._cut: set[int] = set()
        self._said: dict[int, list[ActivePolicy]] = {}
        self._gate = ChunkGate(policies, within)
        self._finishing = [active for active in policies if type(active.policy).on_finish is not Policy.on_finish]
        # Whether taking a chunk in may take long: a policy looks at the chunks itself, and may await anything.
        self.may_wait = not self._gate.is_open

    @property
    def is_holding(self) -> bool:
        """Whether the client is kept waiting for anything."""
        return self._release.is_holding or (self.may_wait and self._gate.is_holding)

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        """Called once a chunk, after `state` has taken it in; with None once more at the end of input."""
        events = state.events
        for event in events:
            if isinstance(event, BlockDelta):
                if self._release.running:
                    self._read_on(event.ordinal, event.text, False, context)
                if event.ordinal in self._bounds:
                    self._bound(state.blocks[event.ordinal], context)
            elif isinstance(event, BlockStarted):
                self._begin(state.blocks[event.ordinal], context)
            elif isinstance(event, BlockCompleted) and self._release.running:
                self._read_on(event.ordinal, "", True, context)
        for block in state.just_sealed:
            self._judge(block, context)
        if self.may_wait:
            await self._pass_gate(chunk, events, state, context)
        else:
            self._release.add(chunk, events, context)
        self._pump(state, context)
        if chunk is None:
            self._finish(state, context)

    def answer(self, number: int, answer: Answer, state: StreamState, context: StreamingContext) -> None:
        """The answer to a question; what it allows is in the outbox afterwards. One that came late is passed over."""
        question = context.questions.pop(number, None)
        judging = None if question is None or question.ordinal is None else self._judgings.get(question.ordinal)
        if question is None or judging is None:
            return
        if (hold := context.holds.get(judging.subject.ordinal)) is not None:
            hold.asks, hold.until = None, None
        judging.answer(question, answer, context)
        self._go_on(judging, context)
        self._pump(state, context)

    def abandon(self, context: StreamingContext) -> None:
        """The client is gone, or upstream cannot be read on: note what was found in texts that are not over."""
        for ordinal in list(self._release.running):
            self._close_text(ordinal, context)

    def _pump(self, state: StreamState, context: StreamingContext) -> None:
        self._release.pump(state, context)
        if context.is_terminated:
            self.abandon(context)

    def _begin(self, block: StreamBlock, context: StreamingContext) -> None:
        holders = tuple(active.name for active in self._enforcing if _holds(active, block))
        if holders:
            self._release.undecided.add(block.ordinal)
            context.holds[block.ordinal] = Hold(context.now(), holders)
            if bounding := [each for each in self._bounding if _bounds(each, block)]:
                self._bounds[block.ordinal] = bounding
            return
        watching = [active for active in self._policies if _watches(active, block)]
        if watching:
            self._release.running[block.ordinal] = RunningText(block, watching)

    def _read_on(self, ordinal: int, text: str, is_whole: bool, context: StreamingContext) -> None:
        if (running := self._release.running.get(ordinal)) is not None:
            running.feed(text, is_whole, context)

    def _bound(self, block: StreamBlock, context: StreamingContext) -> None:
        """A held block grows: has it grown too much? Each policy says so once."""
        for active in list(self._bounds[block.ordinal]):
            judgement = _too_much(active, block, context)
            if judgement is None:
                continue
            self._bounds[block.ordinal].remove(active)
            self._said.setdefault(block.ordinal, []).append(active)
            context.judgements.append(judgement)
            if active.mode is Mode.ENFORCE and judgement.verdict.decision is not Decision.ALLOW:
                self._cut_off(block, judgement, context)
                return

    def _cut_off(self, block: StreamBlock, judgement: Judgement, context: StreamingContext) -> None:
        """The stream ends where a held block began."""
        halt = replace(judgement.verdict, decision=Decision.HALT)
        self._deny(block.ordinal, Change(judgement.policy, halt, block), context)
        self._release.undecided.discard(block.ordinal)
        del self._bounds[block.ordinal]
        self._cut.add(block.ordinal)

    def _judge(self, block: StreamBlock, context: StreamingContext) -> None:
        self._bounds.pop(block.ordinal, None)
        if block.ordinal in self._cut:
            return
        is_held = block.ordinal in self._release.undecided
        running = self._release.running.get(block.ordinal)
        said = self._said.get(block.ordinal, ())
        own = [active for active in self._policies if active.scope.applies(block) and active not in said]
        if running is not None:
            self._close_text(block.ordinal, context)
        judging = Judging(
            block,
            own,
            partial(judge_block, context=context, is_running=running is not None),
            revised,
            ordinal=block.ordinal,
            counts=is_held,
        )
        if not is_held:
            judging.client_had = block.length - self._release.waiting_text(block.ordinal)
        self._judgings[block.ordinal] = judging
        self._go_on(judging, context)

    def _close_text(self, ordinal: int, context: StreamingContext) -> None:
        """A running text is over: what its policies found goes on the record."""
        running = self._release.running[ordinal]
        if not running.is_noted:
            running.is_noted = True
            client_had = running.block.length - self._release.waiting_text(ordinal)
            context.judgements += running.judgements(context, client_had)

    def _go_on(self, judging: Judging[StreamBlock], context: StreamingContext) -> None:
        ordinal = judging.subject.ordinal
        was_settled = judging.is_settled
        judging.advance(context)
        if was_settled or not judging.is_settled:
            # What still comes then is a shadow's.
            return
        is_held = ordinal in self._release.undecided
        if judging.final is not None:
            active, verdict = judging.final
            if is_held:
                self._deny(ordinal, Change(active, verdict, judging.subject), context)
            else:
                self._release.add_halt(active, verdict)
        elif is_held and judging.replaced_by is not None:
            verdict = Verdict(Decision.REPLACE)
            self._deny(ordinal, Change(judging.replaced_by, verdict, judging.subject), context)
        self._release.undecided.discard(ordinal)

    def _deny(self, ordinal: int, change: Change, context: StreamingContext) -> None:
        self._release.change(ordinal, change)
        hold = context.holds[ordinal]
        hold.is_denied, hold.released_at = True, context.now()

    async def _pass_gate(
        self, chunk: Chunk | None, events: Sequence[StreamEvent], state: StreamState, context: StreamingContext
    ) -> None:
        passed = await self._gate.pass_on(chunk, events, state, context)
        for item in passed.items:
            if item.chunk is not None or item.frame is None:
                self._release.add(item.chunk, item.events, context)
            else:
                self._release.add_made(item.frame)
        if passed.halt is not None:
            self._release.add_halt(*passed.halt)

    def _finish(self, state: StreamState, context: StreamingContext) -> None:
        for active in self._finishing:
            began, failure = context.now(), ""
            try:
                verdict = checked(active.policy.on_finish(state, context))
            except BaseException as error:  # As with any hook: its failure, not the stream's.
                failure = words(error)
                verdict = active.failed(failure)
            if verdict is not None:
                at = context.now()
                context.judgements.append(Judgement(active, None, verdict, at, at - began, failure, Subject.STREAM))


def _holds(active: ActivePolicy, block: StreamBlock) -> bool:
    """A policy that fails to say holds, unless it fails open."""
    if not active.scope.may_apply(block):
        return False
    try:
        return active.policy.holds(block)
    except BaseException:
        return not active.fail_open


def _bounds(active: ActivePolicy, block: StreamBlock) -> bool:
    """Where a person has the last word, what the policy says waits until the block is whole."""
    return active.by_hand is None and active.scope.may_apply(block)


def _too_much(active: ActivePolicy, block: StreamBlock, context: StreamingContext) -> Judgement | None:
    """What a policy says of a held block that grows; None where that is not to halt."""
    began, failure = context.now(), ""
    try:
        verdict = checked(active.policy.on_held(block, context))
        if verdict is None or verdict.decision is not Decision.HALT:
            return None
    except BaseException as error:  # As with any hook: its failure, not the stream's.
        failure = words(error)
        verdict = active.failed(failure)
    at = context.now()
    return Judgement(active, block.ordinal, verdict, at, at - began, failure)


def _watches(active: ActivePolicy, block: StreamBlock) -> bool:
    """A policy that fails to say watches, so that its failure is found and noted."""
    if not active.scope.may_apply(block):
        return False
    try:
        return active.policy.watches(block)
    except BaseException:
        return True


def judge_block(
    active: ActivePolicy, block: StreamBlock, *, context: StreamingContext, is_running: bool
) -> Verdict | Consult | None:
    """What a policy makes of a whole block. With `is_running` its text has gone out as it came."""
    if active.policy.watches(block):
        # Where the text went out as it came, it was judged as it came.
        return None if is_running else whole_verdict(active, block, context)
    return active.policy.on_block_complete(block, context)


def revised(block: StreamBlock, verdict: Verdict) -> StreamBlock:
    """The block with another text, or other arguments."""
    return replace(block, _pieces=[verdict.text], _length=len(verdict.text))
