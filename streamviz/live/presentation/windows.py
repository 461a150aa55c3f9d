"""Which blocks of a stream a page shows: thousands would be more than a browser draws in time."""

from collections.abc import Sequence
from typing import NamedTuple

from streamviz.live.presentation.block_views import BlockView, VerdictView
from streamviz.live.presentation.views import StreamView

BLOCKS_A_PAGE = 200


class Window(NamedTuple):
    """The blocks from `start` to before `end`, of `total`, with the verdicts on them and on the stream as a whole."""

    start: int
    end: int
    total: int
    blocks: Sequence[BlockView]
    verdicts: Sequence[VerdictView]

    @property
    def is_newest(self) -> bool:
        return self.end == self.total

    @property
    def earlier(self) -> int | None:
        """Where the page before this one begins; None if this is the first."""
        return max(0, self.start - BLOCKS_A_PAGE) if self.start else None

    @property
    def later(self) -> int | None:
        """Where the page after this one begins; None if this is the last."""
        return None if self.is_newest else self.end


def first_of_newest(stream: StreamView) -> int:
    """Where the page of the newest blocks begins."""
    return max(0, len(stream.blocks) - BLOCKS_A_PAGE)


def window_of(stream: StreamView, first: int | None = None) -> Window:
    """The blocks from `first` on, or the newest if it is None. A page is as full as it can be."""
    total = len(stream.blocks)
    newest = first_of_newest(stream)
    start = newest if first is None else min(first, newest)
    end = min(total, start + BLOCKS_A_PAGE)
    verdicts = [each for each in stream.verdicts if each.ordinal is None or start <= each.ordinal < end]
    return Window(start, end, total, stream.blocks[start:end], verdicts)
