"""What the relay tells of its streams so that it is kept, and who it tells it to.

Entries are what the journal holds, so the order of their fields is the journal's format: a new field goes last and
has a default. Their types say how they are kept in Postgres, and in exports (`columns.py`).
"""

from collections.abc import Sequence
from typing import Annotated, Protocol, Self
from uuid import UUID

import msgspec

from streamviz.core.aggregator import Chunk
from streamviz.core.context import UPSTREAM, Frame
from streamviz.records.block_record import BlockRecord
from streamviz.records.columns import (
    Content,
    Cost,
    Id,
    JsonObjects,
    JsonText,
    Kept,
    Moment,
    Name,
    Numbers,
    Provider,
    RawContent,
    SessionId,
    Spans,
    TextsByName,
    Tokens,
)
from streamviz.records.ids import DAY_MILLISECONDS, milliseconds_of
from streamviz.records.verdict_record import VerdictRecord

# The client's error message for a stream that an operator stopped.
CANCELLED = "The stream was cancelled by an operator."


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One thing that happened to a stream."""

    stream_id: UUID


class StreamOpened(Entry, frozen=True, tag="opened"):
    """A request was accepted. `upstream_model` is what the provider calls the model. Times are µs since the epoch.

    `not_run` are the policies that do not judge it, and why. Where a policy takes its time over the request, `request`
    is empty at first and the entry comes once more. The stream goes on from `parent`, as `relation` says; where that is
    not known, from one that left something that was `asked` for. `is_named` says that its client named the session, as
    `session_name`; `session_label` says what that is about. `request_headers` are those that are kept; `executor`
    answers it with calls of its own, `part` is what such a call is for. `replayed` has all names of a replay's model,
    which are its recording's; empty for any other stream.
    """

    session_id: SessionId
    session_label: Content
    key_id: Id | None
    client: str
    user_agent: str
    endpoint: str
    wire_format: str
    is_streaming: bool
    requested_model: Name
    upstream_model: Name
    provider: Provider
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
    replayed: tuple[str, ...] = ()

    @property
    def is_dated(self) -> bool:
        """Whether its id tells when it was requested, to a day. Those that were imported may be of any make."""
        return abs(milliseconds_of(self.stream_id) - self.requested_at // 1000) < DAY_MILLISECONDS


class ChunksReceived(Entry, frozen=True, tag="chunks"):
    """The bytes of chunks that came together, in order; `first` is the seq of the first one.

    Where the bytes are not to be kept `raws` is empty and `sizes` has how many there were in each.
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

    `seqs` are the chunks of upstream's that they are, None for one that was made; `made` has origin and bytes of those,
    in order.
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
    """Policies judged; told before the client gets what was judged."""

    verdicts: list[VerdictRecord]


class StreamClosed(Entry, frozen=True, tag="closed"):
    """A stream ended. `usage` is JSON text.

    `client_waits` tells from when to when its client did not take what it was sent. Of the input tokens some were read
    from a cache and some written to one, of the output tokens some are reasoning; `is_estimated`: they are estimates.
    `hides_usage`: the client got upstream's chunks without the `usage: null` that it had not asked for.
    `marks` are what later streams may know it by. `left_out` names what the provider could not take of the request, and
    what of its answer had no place in the client's format.

    Times are µs since the epoch; what is not known is None.
    """

    upstream_model: Name
    provider: Provider
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
    itl_p50: Annotated[int | None, Kept(column="itl_p50_us")]
    itl_p95: Annotated[int | None, Kept(column="itl_p95_us")]
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
    """Takes entries. They are kept once `flush` returns, which is called before a client gets what they tell of."""

    def append(self, entry: AnyEntry) -> None:
        """Take an entry in."""

    def flush(self) -> None:
        """Keep all that was appended."""

    def has_lost(self, stream_id: UUID) -> bool:
        """Whether a stream may not go on, as it cannot be recorded any more."""
