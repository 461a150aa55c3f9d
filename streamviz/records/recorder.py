"""What the relay records of its streams, as entries, and the interface that takes them.

The journal stores entries as arrays, so the order of their fields is its format: a new field goes last and has a
default. The fields' types say how they are kept in Postgres and in exports (`columns.py`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Protocol, Self
from uuid import UUID

import msgspec

from streamviz.core.aggregator import Chunk
from streamviz.core.context import UPSTREAM, Frame
from streamviz.records.block_record import BlockRecord
from streamviz.records.columns import (
    DURATION,
    Content,
    Cost,
    Id,
    JsonObjects,
    JsonText,
    Kept,
    Moment,
    Name,
    Numbers,
    RawContent,
    SessionId,
    ShortName,
    Spans,
    Texts,
    TextsByName,
    Tokens,
)
from streamviz.records.ids import DAY_MILLISECONDS, milliseconds_of
from streamviz.records.verdict_record import VerdictRecord

# The error message for the client of a stream that an operator cancelled.
CANCELLED = "The stream was cancelled by an operator."


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One thing that happened to a stream."""

    stream_id: UUID


class StreamOpened(Entry, frozen=True, tag="opened"):
    """A request was accepted. `upstream_model` is what the provider calls the model. Times are µs since the epoch.

    `not_run` lists the policies that do not judge it, and why. If a policy needs time to judge the request, `request`
    is empty at first, and the entry is recorded a second time. `parent` is the stream that this one continues, as
    `relation` says; if the parent is not known, `asked` has the marks by which to find it. `is_named` says that the
    client named the session, as `session_name`; `session_label` says what the session is about. `request_headers` are
    the headers that are kept. `executor` answers the stream with calls of its own; `part` is what such a call is for.
    `other_names` are those names of its model that neither its client nor its provider uses: what policies made of the
    client's, and those of a replay's recording.
    """

    session_id: SessionId
    session_label: Content
    key_id: Id | None
    client: str
    user_agent: str
    endpoint: ShortName
    wire_format: str
    is_streaming: bool
    requested_model: Name
    upstream_model: Name
    provider: ShortName
    requested_at: Moment
    request: RawContent
    not_run: JsonObjects = []
    parent: UUID | None = None
    relation: str = ""
    asked: Numbers = []
    is_named: bool = False
    session_name: str = ""
    request_headers: TextsByName = {}
    executor: str = ""
    part: str = ""
    other_names: Texts = ()

    @property
    def is_dated(self) -> bool:
        """Whether its id encodes when it was requested, to a day. Ids of imported streams may be of any kind."""
        return abs(milliseconds_of(self.stream_id) - self.requested_at // 1000) < DAY_MILLISECONDS


class ChunksReceived(Entry, frozen=True, tag="chunks"):
    """The bytes of chunks that came together, in order; `first` is the seq of the first one.

    If the bytes are not to be kept, `raws` is empty and `sizes` has the size of each chunk.
    """

    first: int
    received_at: int
    raws: list[bytes]
    sizes: list[int] = []

    @classmethod
    def of(cls, stream_id: UUID, chunks: Sequence[Chunk]) -> Self:
        """The entry for chunks that came in one read; at least one."""
        first = chunks[0]
        return cls(stream_id, first.seq, first.received_at, [chunk.raw for chunk in chunks])


class FramesSent(Entry, frozen=True, tag="frames"):
    """Frames handed to the client's socket together; `first` is the number of the first one.

    `seqs` has, for each frame, the seq of the chunk that it is, or None for a made frame; `made` has the origin and
    bytes of made frames, in order.
    """

    first: int
    sent_at: int
    seqs: list[int | None]
    made: list[tuple[str, bytes]]

    @classmethod
    def of(cls, stream_id: UUID, first: int, sent_at: int, frames: Sequence[Frame]) -> Self:
        """The entry for frames that leave at `sent_at` (µs since the epoch)."""
        seqs = [frame.seq if frame.origin == UPSTREAM else None for frame in frames]
        made = [(frame.origin, frame.raw) for frame in frames if frame.origin != UPSTREAM] if None in seqs else []
        return cls(stream_id, first, sent_at, seqs, made)


class VerdictsGiven(Entry, frozen=True, tag="verdicts"):
    """Verdicts of policies, recorded before the client gets what was judged."""

    verdicts: list[VerdictRecord]


class StreamClosed(Entry, frozen=True, tag="closed"):
    """A stream ended. `usage` is JSON text.

    `client_waits` has the spans during which the client did not take what it was sent. Of the input tokens some were
    read from a cache and some written to one; of the output tokens some are reasoning. `is_estimated` says that the
    token counts are estimates. `hides_usage` says that the client got upstream's chunks without the `usage: null` that
    it had not asked for. `marks` are what later streams may recognise it by. `left_out` names what the provider could
    not take of the request, and what of its answer had no place in the client's format.

    Times are µs since the epoch; anything unknown is None.
    """

    upstream_model: Name
    provider: ShortName
    outcome: str
    finish_reason: str
    status: int | None
    error: Content
    usage: JsonText | None
    input_tokens: Tokens | None
    output_tokens: Tokens | None
    cost: Cost | None
    chunk_count: int
    frame_count: int
    upstream_first_at: Moment | None
    client_first_at: Moment | None
    ended_at: Moment
    itl_p50: Annotated[int | None, replace(DURATION, column="itl_p50_us")]
    itl_p95: Annotated[int | None, replace(DURATION, column="itl_p95_us")]
    blocks: Annotated[list[BlockRecord], Kept(to_sql=len, column="block_count", is_exported=False)]
    client_waits: Spans | None = None
    cache_read_tokens: Tokens | None = None
    cache_written_tokens: Tokens | None = None
    reasoning_tokens: Tokens | None = None
    is_estimated: bool = False
    hides_usage: bool = False
    marks: Numbers = []
    left_out: Content = ""


AnyEntry = StreamOpened | ChunksReceived | FramesSent | VerdictsGiven | StreamClosed


class Recorder(Protocol):
    """Takes entries. They are kept once `flush` returns, which is called before a client gets what they describe."""

    def append(self, entry: AnyEntry) -> None:
        """Take in an entry."""

    def flush(self) -> None:
        """Keep everything that was appended."""

    def has_lost(self, stream_id: UUID) -> bool:
        """Whether a stream must end because it can no longer be recorded."""
