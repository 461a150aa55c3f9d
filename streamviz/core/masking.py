"""What policies mask in an answer: what may be kept of its blocks."""

from collections.abc import Iterable

from streamviz.core.blocks import StreamBlock
from streamviz.core.chain import judge_block, revised
from streamviz.core.context import StreamingContext
from streamviz.core.policy import ActivePolicy, Decision, Mode, Verdict


def masking(policies: Iterable[ActivePolicy]) -> list[ActivePolicy]:
    """Those of whose changes nothing is to be kept."""
    return [active for active in policies if active.policy.masks and active.mode is Mode.ENFORCE]


def masked_text(block: StreamBlock, policies: Iterable[ActivePolicy], context: StreamingContext) -> str:
    """The text, or the arguments, of a block as `policies` leave it; empty where one of them cannot tell."""
    for active in policies:
        if not active.scope.applies(block):
            continue
        try:
            said = judge_block(active, block, context=context, is_running=False)
        except BaseException:  # As with any hook: its failure, not the stream's.
            return ""
        if isinstance(said, Verdict) and said.decision is Decision.REPLACE:
            block = revised(block, said)
    return block.text
