"""Chunks for people to read."""

from collections.abc import Sequence
from typing import NamedTuple

from streamviz.dashboard.chunk_queries import ChunkRow
from streamviz.live.presentation.cutting import PAGE_BYTES, Cut, cut, share
from streamviz.records.models import Block

_FRAME_BYTES = 2_500
_BLOCKS = 5


class ShownChunk(NamedTuple):
    """A chunk with its bytes as text, as far as the page has room for it, and the first of its blocks."""

    row: ChunkRow
    text: Cut
    blocks: Sequence[Block]
    more_blocks: int


def shown(rows: Sequence[ChunkRow]) -> list[ShownChunk]:
    """Chunks as one page shows them."""
    texts = [decoded(row.raw or b"") for row in rows]
    room = share(texts, PAGE_BYTES - _FRAME_BYTES * len(rows))
    return [
        ShownChunk(row, cut(text, room), row.blocks[:_BLOCKS], max(0, len(row.blocks) - _BLOCKS))
        for row, text in zip(rows, texts, strict=True)
    ]


def decoded(raw: bytes) -> str:
    """A chunk's bytes as text, with visible line ends, so that one sees what ends an event."""
    return raw.decode("utf-8", "replace").replace("\r", "␍").replace("\n", "↵")
