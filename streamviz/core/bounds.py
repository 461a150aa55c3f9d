"""Limits on the size of upstream's answers."""

from dataclasses import dataclass
from typing import TypeVar

from streamviz.core.errors import UpstreamError

T = TypeVar("T")
MIB = 2**20
# The most things in one event, if blocks are limited at all: taking in so many takes some 100 ms.
MOST_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most bytes of an answer and of one event of it, the most events and blocks, and the most JSON values of an
    event or of a request. Aggregators count blocks and values."""

    answer_bytes: int
    event_bytes: int
    events: int
    blocks: int
    values: int

    def require_bytes(self, received: int) -> None:
        """Raises UpstreamError for an answer of more bytes."""
        if received > self.answer_bytes:
            raise too_much(f"an answer of more than {self.answer_bytes / MIB:g} MiB", "MAX_ANSWER_MB")

    def require_event(self, waiting: int) -> None:
        """Raises UpstreamError if an incomplete event already has more bytes, `waiting`."""
        if waiting > self.event_bytes:
            raise too_much(f"an event of more than {self.event_bytes / MIB:g} MiB", "MAX_EVENT_MB")

    def require_events(self, received: int) -> None:
        """Raises UpstreamError for an answer of more events."""
        if received > self.events:
            raise too_much(f"more than {self.events} events", "MAX_EVENTS")


class BlockLimit:
    """Counts the things in an answer's events. `most_blocks` is the limit; None means no limit."""

    def __init__(self, most_blocks: int | None) -> None:
        self.most_blocks = most_blocks
        self._told = 0

    def _begin_event(self) -> None:
        self._told = 0

    def _few(self, things: list[T]) -> list[T]:
        """The things in an event, if it may have so many: each takes time to read, even if it makes no block of its
        own. Raises UpstreamError if they are too many."""
        if len(things) > 1:
            self._count(len(things) - 1)
        return things

    def _count(self, things: int) -> None:
        """Count so many more things in this event. Raises UpstreamError if that makes too many."""
        self._told += things
        if self.most_blocks is not None and self._told >= min(self.most_blocks, MOST_AT_ONCE):
            raise too_many_blocks(min(self.most_blocks, MOST_AT_ONCE))

    def _require_room(self, known: int) -> None:
        """Raises UpstreamError if another block, or choice, may not begin beside those that are `known`."""
        if self.most_blocks is not None and known >= self.most_blocks:
            raise too_many_blocks(self.most_blocks)


def too_much(what: str, setting: str) -> UpstreamError:
    """The client's error when its answer is cut off."""
    return UpstreamError(502, f"upstream sent {what}, which is the limit here ({setting})")


def too_many_blocks(most: int) -> UpstreamError:
    """The same, for too many blocks, or too many things in an event."""
    return too_much(f"more than {most} blocks", "MAX_BLOCKS")


def too_many_values(most: int) -> UpstreamError:
    """The same, for too many JSON values in an event or a whole answer."""
    return too_much(f"more than {most} JSON values at once", "MAX_VALUES")
