"""What is known of a stream, as journal entries, so that running and recorded streams are shown alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from streamviz.core.judgements import Hold
from streamviz.records.recorder import StreamClosed, StreamOpened
from streamviz.records.verdict_record import VerdictRecord

# The name and version given for a policy that the record lacks: a journal may be newer than a restored database, and
# the policy made in between.
UNKNOWN_POLICY = ("unknown policy", 0)


class Given(NamedTuple):
    """A verdict, and the name and version of the policy that gave it."""

    verdict: VerdictRecord
    policy: str
    version: int


class Times(NamedTuple):
    """Times in µs since the epoch: of each chunk received; of the chunks sent unchanged, with their seqs; of the frames
    that are not chunks; and the spans in which the client took nothing (an end of None: it still takes nothing)."""

    received_at: Sequence[int] = ()
    passed_seqs: Sequence[int] = ()
    passed_at: Sequence[int] = ()
    made_at: Sequence[int] = ()
    client_waits: Sequence[tuple[int, int | None]] = ()


NO_TIMES = Times()


@dataclass(frozen=True, slots=True)
class StreamEntries:
    """A stream's entries. While it runs, `closed` has what it would have if the stream ended now, and no outcome.

    `last_received_at` is when the last chunk came. A running stream's `holds` are by block, `awaited` has the policies
    that its request waits for, and `sending_since` is set while the client's socket is full.
    """

    opened: StreamOpened
    closed: StreamClosed
    verdicts: Sequence[Given]
    key_name: str
    last_received_at: int | None
    times: Times = NO_TIMES
    holds: Mapping[int, Hold] = field(default_factory=dict)
    awaited: tuple[str, ...] = ()
    sending_since: int | None = None
