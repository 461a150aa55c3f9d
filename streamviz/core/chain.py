"""The policy chain: runs a stream's policies over it and decides what goes out, and when."""

from collections.abc import Sequence, Set
from dataclasses import replace

from streamviz.core.aggregator import Chunk
from streamviz.core.block_judging import BlockJudging
from streamviz.core.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.bounding import Bounding
from streamviz.core.calls import stands_for_others
from streamviz.core.chunk_gate import ChunkGate
from streamviz.core.composer import Composer
from streamviz.core.envelope_judging import EnvelopeJudging
from streamviz.core.events import (
    CONTRADICTION,
    BlockCompleted,
    BlockDelta,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    processing_error,
)
from streamviz.core.hooks import verdict_of
from streamviz.core.judgements import Answer, ChainContext, Hold, Judgement, Subject
from streamviz.core.judging import Judging
from streamviz.core.policy import ActivePolicy, Bounded, Policy, Rest, no_rest
from streamviz.core.release import Release
from streamviz.core.rewriting import Change
from streamviz.core.running import RunningTexts
from streamviz.core.verdicts import Decision, Mode, Verdict

_STEPS_A_REST = 50


class PolicyChain:
    """Runs a stream's policies over it, in their order.

    A block is judged once it can no longer grow. Judges of several blocks work side by side; their questions are in the
    context's `questions`, and the driver brings each answer to `answer`. Running text is read as it comes and goes out
    as far as the rules let it.

    No method raises. If the chain itself fails (in a composer, for example), the state gets a `fault` and no policy is
    asked any more; if no policy enforces, the bytes go on all the same.
    """

    def __init__(
        self,
        policies: Sequence[ActivePolicy],
        composer: Composer,
        within: Bounded | None = None,
        rest: Rest = no_rest,
    ) -> None:
        self._policies = policies
        self._enforcing = [active for active in policies if active.mode is Mode.ENFORCE]
        self._release = Release(composer)
        self._texts = RunningTexts(self._release.running, rest)
        self._look_back = max((each.policy.look_back for each in policies), default=0)
        self._blocks = BlockJudging(policies)
        self._judgings: dict[int, Judging[StreamBlock]] = {}
        self._bounding = Bounding(policies)
        self._envelope = EnvelopeJudging(policies)
        self._gate = ChunkGate(policies, within)
        self._finishing = [active for active in policies if type(active.policy).on_finish is not Policy.on_finish]
        # Whether taking a chunk in may take long: a policy looks at the chunks themselves, and may await anything.
        self.may_wait = not self._gate.is_open
        self._has_failed = False
        self._rest = rest
        self._steps = 0

    @property
    def is_enforcing(self) -> bool:
        """Whether any of the policies can change what the client gets."""
        return bool(self._enforcing)

    @property
    def begun(self) -> Set[int] | None:
        """The blocks that have begun to go out, or whose replacements have; None if all go out as they come."""
        return self._release.begun if self._enforcing else None

    @property
    def is_holding(self) -> bool:
        """Whether the client is kept waiting for anything."""
        if self._has_failed or not self._enforcing:
            return False
        return self._release.is_holding or (self.may_wait and self._gate.is_holding)

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: ChainContext) -> None:
        """Called once for each chunk, after `state` has taken it in, and once with None at the end of input."""
        sent = len(context.outbox)
        if not self._has_failed:
            try:
                await self._take(chunk, state, context)
            except Exception as error:
                self._fail(error, state, context)
        if not self._enforcing:
            # Shadows change nothing, whatever they do.
            del context.outbox[sent:]
            if chunk is not None:
                context.send(chunk)

    async def _step(self) -> None:
        """Count a step; now and then let others run, however many steps come together."""
        self._steps += 1
        if self._steps >= _STEPS_A_REST:
            self._steps = 0
            await self._rest()

    async def _take(self, chunk: Chunk | None, state: StreamState, context: ChainContext) -> None:
        if state.beside and (why := await self._envelope.forbidden(state.beside, context, self._rest)):
            state.apply(StreamFailed(why, kind=CONTRADICTION))
            return
        if state.spoilt:
            self._release.leave_out(state.spoilt)
        await self._take_events(state, context)
        if state.just_sealed and any(self._stands_for_others(block, context) for block in state.just_sealed):
            state.apply(StreamFailed("upstream calls several tools in one call", kind=CONTRADICTION))
            return
        for number, block in enumerate(state.just_sealed):
            if number:
                await self._rest()
            self._judge(block, context)
        if self.may_wait:
            await self._pass_gate(chunk, state.events, state, context)
        else:
            self._release.add(chunk, state.events, context)
        self._pump(state, context)
        if chunk is None:
            self._finish(state, context)

    def _stands_for_others(self, block: StreamBlock, context: ChainContext) -> bool:
        """Whether a held call may be carried out as others, none of which would have been judged."""
        is_held_call = isinstance(block, ToolCallStreamBlock) and block.ordinal in self._release.undecided
        return is_held_call and stands_for_others(block.name, block.text) and not context.request.offers(block.name)

    async def _take_events(self, state: StreamState, context: ChainContext) -> None:
        for event in state.events:
            await self._step()
            if isinstance(event, BlockDelta):
                if self._release.running:
                    await self._texts.read(event, context)
                if event.ordinal in self._bounding.asked:
                    self._bound(state.blocks[event.ordinal], context)
            elif isinstance(event, BlockStarted):
                self._begin(state.blocks[event.ordinal], context)
            elif isinstance(event, BlockCompleted) and self._release.running:
                self._texts.read_on(event.ordinal, "", True, context)

    def answer(self, number: int, answer: Answer, state: StreamState, context: ChainContext) -> None:
        """Take the answer to a question; what it allows is in the outbox afterwards. A late answer is ignored."""
        try:
            self._take_answer(number, answer, state, context)
        except Exception as error:
            self._fail(error, state, context)

    def _take_answer(self, number: int, answer: Answer, state: StreamState, context: ChainContext) -> None:
        question = context.questions.pop(number, None)
        judging = None if question is None or question.ordinal is None else self._judgings.get(question.ordinal)
        if question is None or judging is None:
            return
        if (hold := context.holds.get(judging.subject.ordinal)) is not None and hold.asks == number:
            hold.asks = None
        judging.answer(question, answer, context)
        self._go_on(judging, context)
        self._pump(state, context)

    def abandon(self, context: ChainContext) -> None:
        """Note what was found in unfinished texts: the client is gone, or upstream cannot be read any further."""
        context.end_holds()
        if self._has_failed:
            return
        for ordinal in list(self._release.running):
            self._texts.close(ordinal, self._release.waiting_text(ordinal), context)

    def _fail(self, error: Exception, state: StreamState, context: ChainContext) -> None:
        """Stop judging: the stream has a failure, which counts as one of each policy."""
        self._has_failed = True
        state.apply(processing_error("policies could not be run", error))
        context.questions.clear()
        context.end_holds()
        at, why = context.now(), state.fault
        context.judgements += [
            Judgement(active, None, active.failed(why), at, 0, why, Subject.STREAM) for active in self._policies
        ]

    def _pump(self, state: StreamState, context: ChainContext) -> None:
        self._release.pump(state, context)
        if context.is_terminated:
            self.abandon(context)

    def _begin(self, block: StreamBlock, context: ChainContext) -> None:
        if holders := self._blocks.holders(block):
            self._release.undecided.add(block.ordinal)
            context.holds[block.ordinal] = Hold(context.now(), holders)
            self._bounding.begin(block)
            return
        if watching := self._blocks.watching(block):
            self._texts.begin(block, watching, self._blocks.raised(block.ordinal), context)

    def _bound(self, block: StreamBlock, context: ChainContext) -> None:
        """Ask the policies about a held block that grew: if it is too much, the stream ends where the block began."""
        if (judgement := self._bounding.grew(block, context)) is not None:
            halt = replace(judgement.verdict, decision=Decision.HALT)
            self._deny(block.ordinal, Change(judgement.policy, halt, block), context)
            self._release.undecided.discard(block.ordinal)

    def _judge(self, block: StreamBlock, context: ChainContext) -> None:
        if (said := self._bounding.end(block)) is None:
            return
        if block.kind.is_text:
            self._texts.note_before(block, self._look_back)
        is_held = block.ordinal in self._release.undecided
        running = self._release.running.get(block.ordinal)
        if running is not None:
            self._texts.close(block.ordinal, self._release.waiting_text(block.ordinal), context)
        judging = self._blocks.judging(block, said, running, context, counts=is_held)
        if not is_held:
            judging.client_had = block.length - self._release.waiting_text(block.ordinal)
        self._judgings[block.ordinal] = judging
        self._go_on(judging, context)

    def _go_on(self, judging: Judging[StreamBlock], context: ChainContext) -> None:
        ordinal = judging.subject.ordinal
        was_settled = judging.is_settled
        judging.advance(context)
        if was_settled or not judging.is_settled:
            # Any verdict that still comes is a shadow's.
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

    def _deny(self, ordinal: int, change: Change, context: ChainContext) -> None:
        self._release.change(ordinal, change)
        context.holds[ordinal].is_denied = True

    async def _pass_gate(
        self, chunk: Chunk | None, events: Sequence[StreamEvent], state: StreamState, context: ChainContext
    ) -> None:
        passed = await self._gate.pass_on(chunk, events, state, context)
        for item in passed.items:
            if item.chunk is not None or item.frame is None:
                self._release.add(item.chunk, item.events, context)
            else:
                self._release.add_made(item.frame)
        if passed.halt is not None:
            self._release.add_halt(*passed.halt)

    def _finish(self, state: StreamState, context: ChainContext) -> None:
        for active in self._finishing:
            began = context.now()
            verdict, failure = verdict_of(active, active.policy.on_finish, state, context)
            if verdict is not None:
                at = context.now()
                context.judgements.append(Judgement(active, None, verdict, at, at - began, failure, Subject.STREAM))
