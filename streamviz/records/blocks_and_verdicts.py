"""A block and a verdict as entries have them, and as they are stored.

As in entries (`recorder.py`) the order of the fields is the journal's format, and their types say how they are kept.
"""

from typing import Annotated, Self

import msgspec

from streamviz.core.blocks import StreamBlock, ThinkingStreamBlock
from streamviz.core.judgements import Judgement
from streamviz.records.columns import Choice, Content, Id, Index, JsonContent, Kept, Moment, Name, Texts


class VerdictRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A verdict; `number` is its place among the stream's, `ordinal` the block's (None: it is about the request or the
    whole stream, as `subject` says). `at` is µs since the epoch, `took` µs, `client_had` characters."""

    number: int
    ordinal: int | None
    policy_version_id: Id
    mode: str
    decision: str
    reason: Content
    failure: str
    at: Moment
    took: Annotated[int, Kept(column="took_us")]
    subject: str = "block"
    evidence: JsonContent = {}
    by: str = ""
    client_had: int = 0

    @classmethod
    def of(cls, number: int, judgement: Judgement) -> Self:
        """The record of a stream's judgement of that number."""
        active, verdict = judgement.policy, judgement.verdict
        return cls(
            number=number,
            ordinal=judgement.ordinal,
            policy_version_id=active.version_id,
            mode=str(active.mode),
            decision=str(verdict.decision),
            reason=verdict.reason,
            failure=judgement.failure,
            at=judgement.at,
            took=judgement.took,
            subject=str(judgement.subject),
            evidence=dict(verdict.evidence),
            by=judgement.by,
            client_had=judgement.client_had,
        )


class BlockRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A block as it ended; `length` is in characters, whether `text` is kept or not. Times are µs since the epoch."""

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
        """A block as it is stored. `released_at` is when the client had it, None where it never did; `text` stands in
        place of its own."""
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
