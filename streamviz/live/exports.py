"""This worker's own rows, for the Live pages of other workers."""

import itertools
import logging
import uuid
from collections.abc import Callable
from time import monotonic

from streamviz.exchange.stream import LiveStream
from streamviz.live import row_sources
from streamviz.live.feed import Feed
from streamviz.live.pace import Pace
from streamviz.live.row_sources import RowSource, RowSources

log = logging.getLogger(__name__)


class Exports:
    """The changes to our rows since the others were last told, as long as any of them wants to know."""

    def __init__(self, feed: Feed) -> None:
        self.number = 0
        self._feed = feed
        self._numbers = itertools.count(1)
        self._sources = RowSources(feed)
        self._wanted_at: dict[str, float] = {}

    @property
    def wanted_by(self) -> list[str]:
        """The channels of other workers where somebody watches the Live page."""
        return list(self._wanted_at)

    def want(self, name: str) -> bool:
        """Note that somebody watches at the worker `name`; return whether that is new, so it missed earlier changes."""
        is_new = name not in self._wanted_at
        self._wanted_at[name] = monotonic()
        return is_new

    def forget(self, seconds: float) -> None:
        """Forget those that have wanted nothing for so many seconds."""
        limit = monotonic() - seconds
        self._wanted_at = {name: at for name, at in self._wanted_at.items() if at >= limit}

    async def take(self, changed: set[uuid.UUID], now: int, pace: Pace) -> list[RowSource]:
        """What to tell the others; `changed` are the streams that changed since the last call."""
        found: list[RowSource] = []
        for stream_id in changed.union(self._sources.due(now)):
            if stream := self._feed.get(stream_id):
                found += self._told(self._sources.of, stream, now)
                await pace.rest()
        return found

    def take_gone(self) -> list[uuid.UUID]:
        """Streams that others show as running, and of which nothing more can be told."""
        return self._sources.take_lost()

    async def all(self, now: int, pace: Pace) -> list[RowSource]:
        """All that run here or have just ended, for a worker that has missed something. What changes before the last
        row is ready is in what `take` returns next."""
        found: list[RowSource] = []
        for stream in [*self._feed.running.values(), *self._feed.finished.values()]:
            found += self._told(row_sources.whole, stream, now)
            await pace.rest()
        return found

    def _told(self, tell: Callable[[LiveStream, int], RowSource], stream: LiveStream, now: int) -> list[RowSource]:
        try:
            return [tell(stream, now)]
        except Exception:  # One bad row must not hold up the others.
            log.exception("could not send the row of %s", stream.id)
            return []

    def next_number(self) -> int:
        """The number of the next message about changes."""
        self.number = next(self._numbers)
        return self.number
