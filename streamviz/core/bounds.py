"""How much an answer of upstream's may be."""

from dataclasses import dataclass
from typing import TypeVar

from streamviz.core.errors import UpstreamError

T = TypeVar("T")
MIB = 2**20
# Of what one event tells, where blocks are limited at all: to take in so many takes some 100 ms.
MOST_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most bytes of an answer and of one event of it, the most blocks, and the most JSON values of an event or of a
    request: blocks and values an aggregator counts."""

    answer_bytes: int
    event_bytes: int
    blocks: int
    values: int

    def require_bytes(self, received: int) -> None:
        """Raises UpstreamError for an answer of more bytes."""
        if received > self.answer_bytes:
            raise too_much(f"an answer of more than {self.answer_bytes / MIB:g} MiB", "MAX_ANSWER_MB")

    def require_event(self, waiting: int) -> None:
        """`waiting` is how many bytes there are of an event that is not whole. Raises UpstreamError for more."""
        if waiting > self.event_bytes:
            raise too_much(f"an event of more than {self.event_bytes / MIB:g} MiB", "MAX_EVENT_MB")


class BlockLimit:
    """Counts what an answer's events tell of. `most_blocks` is the limit, None for none."""

    def __init__(self, most_blocks: int | None) -> None:
        self.most_blocks = most_blocks
        self._told = 0

    def _begin_event(self) -> None:
        self._told = 0

    def _few(self, things: list[T]) -> list[T]:
        """What an event tells of, so far as one may tell of so many: to read each takes its time, even where it makes
        no block of its own. Raises UpstreamError."""
        if len(things) > 1:
            self._count(len(things) - 1)
        return things

    def _count(self, things: int) -> None:
        """So many things more are told in this event. Raises UpstreamError where that makes too many."""
        self._told += things
        if self.most_blocks is not None and self._told >= min(self.most_blocks, MOST_AT_ONCE):
            raise too_many_blocks(min(self.most_blocks, MOST_AT_ONCE))

    def _require_room(self, known: int) -> None:
        """Another block, or choice, is about to begin beside those that are `known`. Raises UpstreamError where there
        may be no more."""
        if self.most_blocks is not None and known >= self.most_blocks:
            raise too_many_blocks(self.most_blocks)


def too_much(what: str, setting: str) -> UpstreamError:
    """The client's error when its answer is cut off."""
    return UpstreamError(502, f"upstream sent {what}, which is the limit here ({setting})")


def too_many_blocks(most: int) -> UpstreamError:
    """The same, for an answer of more blocks, or an event that tells of more things."""
    return too_much(f"more than {most} blocks", "MAX_BLOCKS")


def too_many_values(most: int) -> UpstreamError:
    """The same, for an event, or a whole answer, of more JSON values."""
    return too_much(f"more than {most} JSON values at once", "MAX_VALUES")
