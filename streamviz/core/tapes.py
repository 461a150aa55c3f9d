"""What is known of the two tapes, and the rows that they make side by side."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from streamviz.core.timeline import NOBODY, Timeline

# The most chunks in a run, so that a page that shows it unfolded stays small.
MOST_IN_A_RUN = 500


class Fate(StrEnum):
    """What became of chunks, or of the frames that are not chunks."""

    PASSED = "passed"
    DELAYED = "delayed"
    REPLACED = "replaced"
    DROPPED = "dropped"
    INJECTED = "injected"


class Sent(NamedTuple):
    """A frame: upstream's chunk `seq`, or, if that is None, bytes that `origin` made. `at` is µs since the epoch."""

    at: int
    seq: int | None
    origin: str = ""


class Held(NamedTuple):
    """A block that policies kept back from its chunk `seq` on, between two times (µs since the epoch)."""

    ordinal: int
    seq: int
    began: int
    ended: int
    by: tuple[str, ...]


class Row(NamedTuple):
    """Chunks `seqs` of upstream's and frames `frames` of the client's that belong together; either may be empty.

    `owner` is the block of upstream's, NOBODY for the answer as a whole. `origin` made the frames; `held` says what
    these chunks waited for. `waited` is the longest that one of them took (µs), None if they did not pass.
    """

    fate: Fate
    seqs: range
    frames: range
    owner: int = NOBODY
    origin: str = ""
    held: Held | None = None
    waited: int | None = None

    @property
    def is_run(self) -> bool:
        return len(self.seqs) > 1 and self.waited is not None


class Tapes(NamedTuple):
    """All that is known of both. `holds` are in the order in which they began."""

    upstream: Timeline
    client: Timeline
    frames: Sequence[Sent]
    holds: Sequence[Held] = ()
    lost: frozenset[int] = frozenset()
    """The chunks whose bytes are kept nowhere."""
