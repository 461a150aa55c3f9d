"""What policies mask in an answer: what may be kept of its blocks."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from streamviz.core.blocks import StreamBlock
from streamviz.core.chain import judge_block, revised
from streamviz.core.context import StreamingContext
from streamviz.core.judgements import Answer, Judged
from streamviz.core.judging import checked, words
from streamviz.core.policy import ActivePolicy, Consult, Decision, Mode, Rest, TakesLong, Work, no_rest

Elsewhere = Callable[[Work, float], Awaitable[Answer]]


def masking(policies: Iterable[ActivePolicy]) -> list[ActivePolicy]:
    """Those of whose changes nothing is to be kept."""
    return [active for active in policies if active.policy.masks and active.mode is Mode.ENFORCE]


def kept_text(text: str, policies: Iterable[ActivePolicy]) -> str:
    """What the enforcing ones of `policies` leave of a text beside a request and its answer; empty where one of them
    cannot tell."""
    for active in policies:
        if active.mode is Mode.ENFORCE and text:
            try:
                text = active.policy.kept(text)
            except BaseException:  # As with any hook: its failure, not the stream's.
                return ""
    return text


def kept_values(values: Mapping[str, str], policies: Sequence[ActivePolicy]) -> dict[str, str]:
    """The same of texts by name, such as headers, without those of which nothing is left."""
    return {name: kept for name, text in values.items() if (kept := kept_text(text, policies))}


def masked_text(block: StreamBlock, policies: Iterable[ActivePolicy], context: StreamingContext) -> str:
    """The text, or the arguments, of a block as `policies` leave it; empty where one of them cannot tell.

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
    policies: Sequence[ActivePolicy], context: StreamingContext, judge: Elsewhere, rest: Rest = no_rest
) -> None:
    """Put what may be kept of all blocks of a stream that is over into its context; `judge` does what takes long."""
    for block in context.state.blocks:
        context.masked[block.ordinal] = await _masked_elsewhere(block, policies, context, judge)
        await rest()


async def _masked_elsewhere(
    block: StreamBlock, policies: Iterable[ActivePolicy], context: StreamingContext, judge: Elsewhere
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


def _said(active: ActivePolicy, block: StreamBlock, context: StreamingContext) -> Judged:
    try:
        said = judge_block(active, block, context)
        return Judged(None if isinstance(said, Consult) else checked(said))
    except TakesLong:
        raise
    except BaseException as error:  # As with any hook: its failure, not the stream's.
        return Judged(None, words(error))


def _left(block: StreamBlock, said: Judged) -> StreamBlock:
    is_replaced = said.verdict is not None and said.verdict.decision is Decision.REPLACE
    return revised(block, said.verdict) if said.verdict is not None and is_replaced else block
