"""What policies mask in an answer: what may be kept of its blocks."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from streamviz.core.block_judging import judge_block, revised
from streamviz.core.blocks import StreamBlock, Told
from streamviz.core.envelope_judging import found_beside
from streamviz.core.hooks import Failed, called, checked
from streamviz.core.judgements import Answer, ChainContext, Judged
from streamviz.core.policy import ActivePolicy, Consult, Rest, TakesLong, Work, no_rest
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.core.wire.beside import is_word

Elsewhere = Callable[[Work, float], Awaitable[Answer]]


def masking(policies: Iterable[ActivePolicy]) -> list[ActivePolicy]:
    """The enforcing policies that mask: nothing of what they change is to be kept."""
    return [active for active in policies if active.policy.masks and active.mode is Mode.ENFORCE]


def kept_text(text: str, policies: Iterable[ActivePolicy]) -> str:
    """What the enforcing ones of `policies` leave of a text beside a request and its answer; empty if one of them
    fails."""
    for active in policies:
        if active.mode is Mode.ENFORCE and text:
            kept = called(active.policy.kept, text)
            text = "" if isinstance(kept, Failed) else kept
    return text


def kept_values(values: Mapping[str, str], policies: Sequence[ActivePolicy]) -> dict[str, str]:
    """The same for texts by name, such as headers, without those of which nothing is left."""
    if not policies:
        return {name: text for name, text in values.items() if text}
    return {name: kept for name, text in values.items() if (kept := kept_text(text, policies))}


def told_text(text: str, policies: Iterable[ActivePolicy]) -> str:
    """What a client may get, and the record keep, of a text that comes with an answer and is in no block: as
    `kept_text`, but nothing if one of `policies` finds in it what it looks for in answers."""
    policies = list(policies)
    kept = kept_text(text, policies)
    return "" if any(_forbids(active, kept) for active in policies) else kept


def told_values(values: Mapping[str, str], policies: Sequence[ActivePolicy]) -> dict[str, str]:
    """The same for texts by name, such as headers, without those of which nothing is left."""
    if not policies:
        return kept_values(values, policies)
    return {name: told for name, text in values.items() if (told := told_text(text, policies))}


def _forbids(active: ActivePolicy, text: str) -> bool:
    if active.mode is not Mode.ENFORCE:
        return False
    found = called(found_beside, active.policy, Told(text, is_word(text)))
    return not active.fail_open if isinstance(found, Failed) else bool(found)


def masked_text(block: StreamBlock, policies: Iterable[ActivePolicy], context: ChainContext) -> str:
    """The text, or the arguments, of a block as `policies` leave it; empty if one of them fails.

    Raises TakesLong.
    """
    for active in policies:
        if active.scope.applies(block):
            said = _said(active, block, context)
            if said.failure:
                return ""
            block = _left(block, said)
    return block.text


async def mask_all(
    policies: Sequence[ActivePolicy], context: ChainContext, judge: Elsewhere, rest: Rest = no_rest
) -> None:
    """Put what may be kept of all blocks of a stream that is over into its context; `judge` does what takes long."""
    for block in context.state.blocks:
        context.masked[block.ordinal] = await _masked_elsewhere(block, policies, context, judge)
        await rest()


async def _masked_elsewhere(
    block: StreamBlock, policies: Iterable[ActivePolicy], context: ChainContext, judge: Elsewhere
) -> str:
    for active in policies:
        if active.scope.applies(block):
            said: Answer
            try:
                said = _said(active, block, context)
            except TakesLong:
                said = await judge(Work(active.policy, block, context), active.time_limit)
            if not isinstance(said, Judged) or said.failure:
                return ""
            block = _left(block, said)
    return block.text


def _said(active: ActivePolicy, block: StreamBlock, context: ChainContext) -> Judged:
    """Raises TakesLong."""
    said = called(_verdict, active, block, context)
    if not isinstance(said, Failed):
        return Judged(said)
    if isinstance(said.error, TakesLong):
        raise said.error
    return Judged(None, said.words)


def _verdict(active: ActivePolicy, block: StreamBlock, context: ChainContext) -> Verdict | None:
    said = judge_block(active, block, context)
    return None if isinstance(said, Consult) else checked(said)


def _left(block: StreamBlock, said: Judged) -> StreamBlock:
    is_replaced = said.verdict is not None and said.verdict.decision is Decision.REPLACE
    return revised(block, said.verdict) if said.verdict is not None and is_replaced else block
