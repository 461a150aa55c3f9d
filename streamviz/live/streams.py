"""A stream under way, as the worker that runs it knows it."""

import uuid
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from streamviz.core.blocks import StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.policy import Decision


@dataclass(slots=True, eq=False)
class LiveStream:
    """All that is known of a stream so far. The relay fills it in; the feed and the recorder read it.

    Times are µs since the epoch. `received_at` and `sent_at` hold one time a chunk and one a frame, in order;
    `sent_seqs` the chunk that each frame is, -1 for a frame that a policy made.
    `decide(ordinal, decision, by)` takes a person's word on a block that is held for one; None while nothing is judged.
    `cancel(by)` stops the stream on a person's word; False where it is too late.
    `sending_since` is when the client's socket was given what it has not taken yet, `client_waits` from when to when
    that took long enough to call the client slow.
    `request` is empty until its policies have settled what goes upstream.
    `outcome` is empty while the stream runs. `state` and `context` are those that the core works on, not copies.
    """

    id: uuid.UUID
    session_id: uuid.UUID
    session_label: str
    key_id: int | None
    key_name: str
    endpoint: str
    wire_format: str
    is_streaming: bool
    requested_model: str
    requested_at: int
    state: StreamState
    context: StreamingContext
    upstream_model: str = ""
    provider: str = ""
    client: str = ""
    user_agent: str = ""
    request: bytes = b""
    received_at: "array[int]" = field(default_factory=lambda: array("q"))
    sent_at: "array[int]" = field(default_factory=lambda: array("q"))
    sent_seqs: "array[int]" = field(default_factory=lambda: array("q"))
    upstream_first_at: int | None = None
    client_first_at: int | None = None
    ended_at: int | None = None
    status: int | None = None
    outcome: str = ""
    error: str = ""
    cost: float | None = None
    sending_since: int | None = None
    client_waits: list[tuple[int, int]] = field(default_factory=list)
    cancel: Callable[[str], bool] | None = None
    decide: Callable[[int, Decision, str], bool] | None = None
