"""This worker's own rows, for the Live pages of the others."""

import itertools
import uuid
from time import monotonic

from streamviz.live.entries import Entry
from streamviz.live.feed import Feed
from streamviz.live.wall import Wall


class Exports:
    """What of our rows changed since the others were last told, while any of them wants to know."""

    def __init__(self, feed: Feed, wall: Wall) -> None:
        self.number = 0
        self._feed = feed
        self._wall = wall
        self._numbers = itertools.count(1)
        self._changed: set[uuid.UUID] = set()
        self._wanted_at: float | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether another worker's people watch the Live page."""
        return self._wanted_at is not None

    def touch(self, stream_ids: set[uuid.UUID]) -> None:
        """Called by the wall."""
        self._changed |= stream_ids

    def want(self) -> None:
        """Somebody watches."""
        self._wanted_at = monotonic()
        self._wall.listen(self)

    def forget(self, seconds: float) -> None:
        """Stop where nobody has wanted anything for so long."""
        if self._wanted_at is not None and monotonic() - self._wanted_at > seconds:
            self._wanted_at = None
            self._wall.ignore(self)

    def take(self) -> list[Entry]:
        """What changed since the last call."""
        changed, self._changed = self._changed, set()
        return [self._wall.entries[each] for each in changed if each in self._wall.entries and self._feed.get(each)]

    def all(self) -> list[Entry]:
        """Everything that runs here or has just ended."""
        ids = [*self._feed.running, *self._feed.finished]
        return [self._wall.entries[each] for each in ids if each in self._wall.entries]

    def next_number(self) -> int:
        """The number of the next letter about changes."""
        self.number = next(self._numbers)
        return self.number
