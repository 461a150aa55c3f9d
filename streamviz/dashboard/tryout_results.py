"""The result of trying a policy, as far as a page has room for it."""

from typing import NamedTuple

from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.judgements import Judgement
from streamviz.live.presentation.cutting import Cut, clipped, cut, share

# How many bytes of each side are shown.
SIDE_BYTES = 600_000
MOST_BLOCKS = 200
LONGEST_NAME, _LONGEST_WHY = 300, 1_000


class BlockShown(NamedTuple):
    """A block for people to read."""

    kind: str
    name: str
    text: Cut


class Shown(NamedTuple):
    """The blocks of one side, as far as a page has room for them; `more` are left out."""

    blocks: list[BlockShown]
    more: int


class VerdictShown(NamedTuple):
    """A verdict for people to read, with its policy and what it is about."""

    policy: str
    decision: str
    about: str
    reason: str
    failure: str


def shown(state: StreamState) -> Shown:
    """The blocks of a side."""
    blocks = state.blocks[:MOST_BLOCKS]
    room = share((block.text for block in blocks), SIDE_BYTES)
    return Shown([_block(block, room) for block in blocks], len(state.blocks) - len(blocks))


def _block(block: StreamBlock, room: int) -> BlockShown:
    return BlockShown(str(block.kind), clipped(block.name, LONGEST_NAME), cut(block.text, room))


def shown_verdict(judgement: Judgement) -> VerdictShown:
    """A judgement, in words."""
    about = f"the {judgement.subject}" if judgement.ordinal is None else f"block {judgement.ordinal}"
    reason, failure = (clipped(why, _LONGEST_WHY) for why in (judgement.verdict.reason, judgement.failure))
    return VerdictShown(judgement.policy.name, str(judgement.verdict.decision), about, reason, failure)
