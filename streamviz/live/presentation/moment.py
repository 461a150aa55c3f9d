"""A finished stream as it was at one moment: its blocks as far as they had arrived, and what came later."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from streamviz.core.tapes import Tapes
from streamviz.live.presentation.block_views import BlockView, VerdictView
from streamviz.live.presentation.moment_blocks import Side, had, sent
from streamviz.live.presentation.views import StreamView

_LATER = 20


class Moment(NamedTuple):
    """The stream when the chunk `seq` had arrived. Times are µs after the request, `following` is that of the next
    chunk; `share` is how far along the stream was, in per cent as text."""

    view: StreamView
    side: Side
    seq: int
    at: int
    following: int | None
    share: str
    later_blocks: Sequence[BlockView]
    later_verdicts: Sequence[VerdictView]
    more_later: int

    @property
    def seconds(self) -> str:
        return f"{self.at / 1_000_000:.3f} s"

    @property
    def ms(self) -> int:
        return -(-self.at // 1000)

    @property
    def next_ms(self) -> int | None:
        """When the next chunk has come."""
        return None if self.following is None else -(-self.following // 1000)


def moment_of(whole: StreamView, tapes: Tapes, seq: int, side: Side) -> Moment:
    """`whole` as it was when the chunk `seq` had arrived, or as it ended if there is no such chunk."""
    upstream = tapes.upstream
    is_over = seq >= len(upstream)
    seq = min(seq, len(upstream) - 1)
    at = max(whole.ended_at or 0, upstream.at(seq)) if is_over else upstream.at(seq)
    verdicts = [verdict for verdict in whole.verdicts if verdict.at <= at]
    blocks = had(whole, tapes, at) if side is Side.CLIENT else list(sent(whole, tapes, seq, at, verdicts))
    later = [block for block in whole.blocks if block.first_seq > seq]
    start, end = whole.requested_at, max(whole.ended_at or 0, at, whole.requested_at + 1)
    # The first that arrived later, as several can arrive at once.
    following = (upstream.last_by(at) or 0) + 1
    return Moment(
        view=structs.replace(whole, blocks=blocks, verdicts=verdicts),
        side=side,
        seq=seq,
        at=at - start,
        following=upstream.at(following) - start if following < len(upstream) else None,
        share=f"{(at - start) / (end - start) * 100:.2f}",
        later_blocks=later[:_LATER],
        later_verdicts=[verdict for verdict in whole.verdicts if verdict.at > at][:_LATER],
        more_later=len(later[_LATER:]),
    )
