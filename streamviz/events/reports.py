"""What is reported of a stream in addition to what its chunks add up to. The tags are their names in JSON lines."""

from uuid import UUID

import msgspec

from streamviz.core.events import StreamEvent
from streamviz.core.json_value import encode

# No delta has a longer text: there may be many readers, and writing it takes the event loop's time.
PIECE = 16_384


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    """A request was accepted. The stream continues `parent`, in the way that `relation` says."""

    stream_id: UUID
    session_id: UUID
    requested_model: str
    upstream_model: str
    provider: str
    wire_format: str
    parent: UUID | None = None
    relation: str = ""


class Asked(msgspec.Struct, frozen=True, tag="asked"):
    """Something that the request adds to its conversation: `kind` and the rest as in `core.request_parts.Part`.
    `number` is its index among those. `is_cut`: the text is longer than this."""

    number: int
    kind: str
    role: str
    text: str = ""
    name: str = ""
    call_id: str = ""
    size: int = 0
    is_error: bool = False
    is_cut: bool = False


class Judged(msgspec.Struct, frozen=True, tag="verdict"):
    """A verdict: `number` is its index among the stream's verdicts, `ordinal` that of its block, None if it is about
    the request or the whole stream, as `subject` says. `took` is in µs."""

    number: int
    ordinal: int | None
    subject: str
    policy: str
    version: int
    mode: str
    decision: str
    reason: str = ""
    failure: str = ""
    by: str = ""
    took: int = 0


class Held(msgspec.Struct, frozen=True, tag="hold"):
    """A block is kept back from the client until these policies have judged it."""

    ordinal: int
    policies: tuple[str, ...] = ()


class Closed(msgspec.Struct, frozen=True, tag="closed"):
    """The stream ended; `outcome` says how. Counts are in tokens, `cost` is in US dollars; None is unknown."""

    outcome: str
    finish_reason: str = ""
    status: int | None = None
    error: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_written_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    upstream_model: str = ""
    provider: str = ""


Report = Opened | Asked | StreamEvent | Judged | Held | Closed


def line(event_id: str, at: int, report: Report) -> bytes:
    """An event as one line; `at` is when it happened, in µs since the epoch."""
    return encode({"event_id": event_id, "at": at, **msgspec.to_builtins(report)}) + b"\n"
