"""What policies say about a block: whether they hold it or read it as it comes, and their verdicts on all of it."""

from collections.abc import Container, Sequence
from dataclasses import replace
from functools import partial

from streamviz.core.blocks import StreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.hooks import Failed, called
from streamviz.core.judgements import ChainContext
from streamviz.core.judging import Judging
from streamviz.core.policy import ActivePolicy, Consult
from streamviz.core.readings import whole_verdict
from streamviz.core.running import RunningText
from streamviz.core.verdicts import Mode, Verdict


class BlockJudging:
    """Asks a stream's policies about its blocks, in their order."""

    def __init__(self, policies: Sequence[ActivePolicy]) -> None:
        self._policies = policies
        self._enforcing = [active for active in policies if active.mode is Mode.ENFORCE]
        # What policies raised when they were asked whether they hold or watch a block.
        self._raised: dict[int, list[tuple[ActivePolicy, BaseException]]] = {}

    def holders(self, block: StreamBlock) -> tuple[str, ...]:
        """The names of the policies that hold a block until they have judged it."""
        return tuple(active.name for active in self._enforcing if self._holds(active, block))

    def watching(self, block: StreamBlock) -> list[ActivePolicy]:
        """The policies that read the text of a block as it comes."""
        return [active for active in self._policies if self._watches(active, block)]

    def raised(self, ordinal: int) -> Sequence[tuple[ActivePolicy, BaseException]]:
        """What policies raised when they were asked whether they hold or watch a block."""
        return self._raised.get(ordinal, ())

    def judging(
        self,
        block: StreamBlock,
        said: Container[ActivePolicy],
        running: RunningText | None,
        context: ChainContext,
        *,
        counts: bool,
    ) -> Judging[StreamBlock]:
        """The verdicts on a whole block by policies that have not `said` theirs; `counts`: whether it was held."""
        own = [active for active in self._policies if active.scope.applies(block) and active not in said]
        say = partial(self._say, running=running, context=context)
        return Judging(block, own, say, revised, ordinal=block.ordinal, counts=counts)

    def _holds(self, active: ActivePolicy, block: StreamBlock) -> bool:
        """Whether a policy holds a block; one that raises an exception does, unless it fails open."""
        said = called(active.policy.holds, block) if active.scope.may_apply(block) else False
        return self._noted(said, active, block, not active.fail_open)

    def _watches(self, active: ActivePolicy, block: StreamBlock) -> bool:
        """Whether a policy watches a block; one that raises an exception does, so that its failure is noted."""
        said = called(active.policy.watches, block) if active.scope.may_apply(block) else False
        return self._noted(said, active, block, True)

    def _noted(self, said: object, active: ActivePolicy, block: StreamBlock, otherwise: bool) -> bool:
        if isinstance(said, Failed):
            self._raised.setdefault(block.ordinal, []).append((active, said.error))
            return otherwise
        return bool(said)

    def _say(
        self, active: ActivePolicy, block: StreamBlock, *, running: RunningText | None, context: ChainContext
    ) -> Verdict | Consult | None:
        """What a policy makes of a whole block."""
        if running is not None and running.is_read_by(active):
            # If the text went out as it came, it was judged as it came.
            return None
        for each, error in self.raised(block.ordinal):
            if each is active:
                raise error
        return judge_block(active, block, context)


def judge_block(active: ActivePolicy, block: StreamBlock, context: StreamingContext) -> Verdict | Consult | None:
    """What a policy makes of a whole block. Raises what the policy raises."""
    if active.policy.watches(block):
        return whole_verdict(active, block, context)
    return active.policy.on_block_complete(block, context)


def revised(block: StreamBlock, verdict: Verdict) -> StreamBlock:
    """The block with the verdict's text, or arguments, in place of its own."""
    return replace(block, _pieces=[verdict.text], _length=len(verdict.text))
