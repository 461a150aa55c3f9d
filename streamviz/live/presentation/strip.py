"""The block strip: a stream's blocks in proportion, on one scale for all strips of a page."""

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

from streamviz.live.presentation.block_views import BlockView
from streamviz.live.presentation.views import StreamView

# Per cent of the width for each doubling of a block's length: a block of 1,000 characters gets some 18 per cent.
_UNIT = 3.0
_LEAST_CHARACTERS = 16
_STEPS = 4  # per doubling: a strip changes in visible steps, not with every character
_GAP = 0.35
_FULL = 98.0
# A page has many strips, and one has no room for more blocks.
_MOST = 100


class Piece(NamedTuple):
    """One block. Positions are per cent of the width, as text; heights are pixels."""

    x: str
    width: str
    end: str
    top: int
    height: int
    css: str
    state: str
    middle: int


class Strip(NamedTuple):
    """All blocks, the growing end of a running stream (None once it is over), and the same in words."""

    pieces: list[Piece]
    edge: str | None
    words: str


def strip_of(stream: StreamView) -> Strip:
    """The strip of a stream; of its newest blocks if there are very many."""
    blocks = stream.blocks[-_MOST:]
    hidden = blocks[-1].ordinal + 1 - len(blocks) if blocks else 0
    widths = _widths(blocks)
    pieces, x = [], 0.0
    for block, width in zip(blocks, widths, strict=True):
        pieces.append(_piece(block, x, width))
        x += width + _GAP
    earlier = [f"{hidden:,} earlier"] if hidden else []
    words = ", ".join([*earlier, *(_words(block) for block in blocks)]) or "no blocks yet"
    return Strip(pieces, f"{x:.1f}%" if stream.is_running else None, words)


def _widths(blocks: Sequence[BlockView]) -> list[float]:
    weights = [round(log2(2 + block.length / _LEAST_CHARACTERS) * _STEPS) / _STEPS for block in blocks]
    room = _FULL - _GAP * len(blocks)
    unit = min(_UNIT, max(room, 1.0) / max(sum(weights), 1.0))
    return [unit * weight for weight in weights]


def _piece(block: BlockView, x: float, width: float) -> Piece:
    mark = block.mark
    middle = mark.top + mark.height // 2
    end = f"{x + width:.1f}%"
    return Piece(f"{x:.1f}%", f"{width:.1f}%", end, mark.top, mark.height, mark.css, block.state, middle)


def _words(block: BlockView) -> str:
    return block.mark.word if block.state in ("sent", "arriving") else f"{block.mark.word} {block.state}"
