"""What the relay tells of its streams so that it is kept, and who it tells it to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from streamviz.core.aggregator import Chunk
from streamviz.core.context import Frame


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """A request was accepted. Times are µs since the epoch."""

    id: UUID
    session_id: UUID
    session_label: str
    key_id: int | None
    client: str
    user_agent: str
    endpoint: str
    wire_format: str
    is_streaming: bool
    requested_model: str
    requested_at: int
    request: bytes


@dataclass(frozen=True, slots=True)
class ChunksReceived:
    """Chunks that came together, in order."""

    stream_id: UUID
    chunks: Sequence[Chunk]


@dataclass(frozen=True, slots=True)
class FramesSent:
    """Frames handed to the client's socket together; `first` is the number of the first one."""

    stream_id: UUID
    first: int
    sent_at: int
    frames: Sequence[Frame]


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """A block as it ended. Times are µs since the epoch."""

    ordinal: int
    kind: str
    choice: int
    index: int | None
    upstream_id: str
    name: str
    label: str
    text: str
    signature: str
    first_seq: int
    last_seq: int
    started_at: int
    completed_at: int | None
    held_at: int | None
    released_at: int | None
    held_by: tuple[str, ...]
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """A verdict; `number` is its place among the stream's, `ordinal` the block's (None: it is about the request or the
    whole stream, as `subject` says). `at` is µs since the epoch, `took` µs, `client_had` characters."""

    number: int
    ordinal: int | None
    policy_version_id: int
    mode: str
    decision: str
    reason: str
    failure: str
    at: int
    took: int
    subject: str = "block"
    evidence: Mapping[str, object] = field(default_factory=dict)
    by: str = ""
    client_had: int = 0


@dataclass(frozen=True, slots=True)
class StreamClosed:
    """A stream ended. Times are µs since the epoch; what is not known is None."""

    id: UUID
    upstream_model: str
    provider: str
    outcome: str
    finish_reason: str
    status: int | None
    error: str
    usage: dict[str, object] | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    chunk_count: int
    frame_count: int
    upstream_first_at: int | None
    client_first_at: int | None
    ended_at: int
    itl_p50: int | None
    itl_p95: int | None
    blocks: Sequence[BlockRecord]
    verdicts: Sequence[VerdictRecord]
    not_run: Sequence[Mapping[str, object]] = ()


Entry = StreamOpened | ChunksReceived | FramesSent | StreamClosed


class Recorder(Protocol):
    """Takes entries. What `append` returned for is kept; it is called before the client gets what an entry tells."""

    def append(self, entry: Entry) -> None: ...
