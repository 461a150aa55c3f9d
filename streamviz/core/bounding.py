"""Held blocks that grow: policies that limit them need not wait until they are whole."""

from collections.abc import Sequence

from streamviz.core.blocks import StreamBlock
from streamviz.core.hooks import verdict_of
from streamviz.core.judgements import ChainContext, Judgement
from streamviz.core.policy import ActivePolicy, Policy
from streamviz.core.verdicts import Decision, Mode


class Bounding:
    """Asks a stream's policies about held blocks while they grow. `asked` has, by a block's ordinal, the policies that
    may still find it too much: each says so once."""

    def __init__(self, policies: Sequence[ActivePolicy]) -> None:
        self.asked: dict[int, list[ActivePolicy]] = {}
        self._policies = [active for active in policies if type(active.policy).on_held is not Policy.on_held]
        self._said: dict[int, list[ActivePolicy]] = {}
        self._ended: set[int] = set()

    def begin(self, block: StreamBlock) -> None:
        """Begin with a block that is held."""
        if asked := [active for active in self._policies if _bounds(active, block)]:
            self.asked[block.ordinal] = asked

    def grew(self, block: StreamBlock, context: ChainContext) -> Judgement | None:
        """The judgement that ends the stream in this block, or None. All judgements are noted in the context."""
        ordinal = block.ordinal
        for active in list(self.asked[ordinal]):
            judgement = _too_much(active, block, context)
            if judgement is None:
                continue
            self.asked[ordinal].remove(active)
            self._said.setdefault(ordinal, []).append(active)
            context.judgements.append(judgement)
            if active.mode is Mode.ENFORCE and judgement.verdict.decision is not Decision.ALLOW:
                del self.asked[ordinal]
                self._ended.add(ordinal)
                return judgement
        return None

    def end(self, block: StreamBlock) -> Sequence[ActivePolicy] | None:
        """End a block that is whole: the policies that have judged it already; None if the stream ended in it."""
        self.asked.pop(block.ordinal, None)
        return None if block.ordinal in self._ended else self._said.get(block.ordinal, ())


def _bounds(active: ActivePolicy, block: StreamBlock) -> bool:
    """Whether to ask a policy about a growing block; if a person has the last word, only about a whole one."""
    return active.by_hand is None and active.scope.may_apply(block)


def _too_much(active: ActivePolicy, block: StreamBlock, context: ChainContext) -> Judgement | None:
    """A policy's judgement of a held block that grows; None unless it halts the stream or the policy failed."""
    began = context.now()
    verdict, failure = verdict_of(active, active.policy.on_held, block, context)
    if verdict is None or (not failure and verdict.decision is not Decision.HALT):
        return None
    at = context.now()
    return Judgement(active, block.ordinal, verdict, at, at - began, failure)
