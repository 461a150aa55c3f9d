"""A block as entries have it and as it is stored.

As in entries (`recorder.py`), the order of the fields is the journal's format, and their types say how they are kept.
"""

from typing import Self

import msgspec

from streamviz.core.blocks import StreamBlock, ThinkingStreamBlock
from streamviz.records.columns import Choice, Content, Index, Moment, Name, Texts


class BlockRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A finished block; `length` is in characters, whether `text` is kept or not. Times are µs since the epoch."""

    ordinal: int
    kind: str
    choice: Choice
    index: Index | None
    upstream_id: str
    name: Name
    label: str
    text: Content
    length: int
    signature: Content
    first_seq: int
    last_seq: int
    started_at: Moment
    completed_at: Moment | None
    held_at: Moment | None
    released_at: Moment | None
    held_by: Texts
    is_truncated: bool

    @classmethod
    def of(
        cls,
        block: StreamBlock,
        held_at: int | None = None,
        held_by: tuple[str, ...] = (),
        released_at: int | None = None,
        text: str | None = None,
    ) -> Self:
        """The record of a block. `released_at` is when the client had it, None if it never did; `text` replaces the
        block's own."""
        return cls(
            ordinal=block.ordinal,
            kind=str(block.kind),
            choice=block.choice,
            index=block.index,
            upstream_id=block.id,
            name=block.name,
            label=block.label,
            text=block.text if text is None else text,
            length=block.length,
            signature=block.signature if isinstance(block, ThinkingStreamBlock) else "",
            first_seq=block.first_seq,
            last_seq=block.last_seq,
            started_at=block.started_at,
            completed_at=block.completed_at,
            held_at=held_at,
            released_at=released_at,
            held_by=held_by,
            is_truncated=block.is_truncated,
        )
