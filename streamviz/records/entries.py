"""What is known of a stream, in the journal's entries: one that runs and one of the record are shown alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from streamviz.core.judgements import Hold
from streamviz.records.recorder import StreamClosed, StreamOpened
from streamviz.records.verdict_record import VerdictRecord

# The name and the version of a policy that the record has lost: a journal may be newer than a database that was
# restored, and the policy was made between them.
UNKNOWN_POLICY = ("unknown policy", 0)


class Given(NamedTuple):
    """A verdict, and the name and the version of the policy that gave it."""

    verdict: VerdictRecord
    policy: str
    version: int


class Times(NamedTuple):
    """When what passed (µs since the epoch): each chunk that came, the chunks that went out as they came with their
    numbers, the frames that are no chunk, and from when to when the client took nothing (None: it still does not)."""

    received_at: Sequence[int] = ()
    passed_seqs: Sequence[int] = ()
    passed_at: Sequence[int] = ()
    made_at: Sequence[int] = ()
    client_waits: Sequence[tuple[int, int | None]] = ()


NO_TIMES = Times()


@dataclass(frozen=True, slots=True)
class StreamEntries:
    """A stream's entries: while it runs, `closed` says what it would if it ended now, and has no outcome.

    `last_received_at` is when the last chunk came, `holds` are those of a running stream, by their blocks, `awaited`
    the policies that its request waits for. `sending_since` is set while the client's socket is full.
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
