"""The rows of the Live page, each rendered once for everyone who watches, whatever their filters."""

import logging
import uuid
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Protocol
from weakref import WeakSet

import msgspec

from streamviz.exchange.stream import LiveStream
from streamviz.live.entries import Entry
from streamviz.live.feed import RECENT_SECONDS, Feed, has_passed
from streamviz.live.pace import Pace
from streamviz.live.painter import Painter
from streamviz.live.presentation.rows import row_of
from streamviz.live.presentation.views import StreamView
from streamviz.live.row_sources import SECOND, RowSource, RowSources

log = logging.getLogger(__name__)

# How many that ended longer ago stay in a list at the bottom; history has the others.
MOST_RECENT = 20
# How many are shown as having just finished.
MOST_FINISHED = 40
# Rows are rendered anew if nobody has looked for this long.
_FORGET_US = 5_000_000


class Listener(Protocol):
    """Told which rows have changed."""

    def touch(self, stream_ids: set[uuid.UUID]) -> None:
        """These rows changed, came or went."""


class Record(Protocol):
    """What a wall asks the record."""

    async def recent(self) -> Iterable[StreamView]:
        """The newest finished streams."""

    async def deleted(self, stream_ids: Collection[uuid.UUID]) -> Collection[uuid.UUID]:
        """Which of these were deleted."""


class Wall:
    """All rows that this worker knows of. Used only from the event loop."""

    def __init__(self, feed: Feed, record: Record | None = None) -> None:
        self.entries: dict[uuid.UUID, Entry] = {}
        self._feed = feed
        self._record = record
        self._sources = RowSources(feed)
        self._painters: dict[uuid.UUID, Painter] = {}
        self._listeners: WeakSet[Listener] = WeakSet()
        self._second = 0
        self._caught_up_at = 0
        self.looked_at = 0
        self.times_forgotten = 0
        self.are_others_away = False

    @property
    def is_watched(self) -> bool:
        return bool(self._listeners)

    @property
    def tally(self) -> dict[str, int]:
        """How many streams are in each state; `running` are all that have not ended."""
        sizes = Counter(entry.group for entry in self.entries.values())
        return {
            "asks": sizes["asks"],
            "running": sizes["running"] + sizes["asks"] + sizes["held"] + sizes["stalled"],
            "held": sizes["held"],
            "stalled": sizes["stalled"],
        }

    @property
    def newest_ask(self) -> int:
        """When a person was last asked something that is still open (µs since the epoch); 0 if nothing is."""
        return max((entry.asked_at for entry in self.entries.values() if entry.asked_by), default=0)

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of each change, for as long as it lives."""
        self._listeners.add(listener)

    async def catch_up(self, now: int) -> None:
        """Look at everything, for somebody who starts to watch."""
        if not self.is_watched and (has_passed(_FORGET_US, self._caught_up_at, now) or self._has_stale()):
            self._forget()
            await self.look_at_record(now)
        self._caught_up_at = now
        await self.refresh({*self._feed.running, *self._feed.finished}, now, Pace())

    def _has_stale(self) -> bool:
        """Whether a row is shown as running although nobody here knows its stream."""
        return any(entry.ended_at is None and self._feed.get(entry.id) is None for entry in self.entries.values())

    def _forget(self) -> None:
        """Drop all rows: nobody has looked for a while, and what was running may have ended since."""
        self.entries.clear()
        self._sources.forget()
        self._painters.clear()
        self.times_forgotten += 1

    async def look_at_record(self, now: int) -> None:
        """Show what ended without this worker noticing, such as the streams of one that was killed, and drop what was
        deleted without its noticing."""
        self.looked_at = now
        if self._record is None:
            return
        for stream_id in await self._record.deleted([each.id for each in self.entries.values() if each.ended_at]):
            self.drop(stream_id)
        for view in await self._record.recent():
            if view.id not in self.entries and not view.part and self._is_recent(view):
                row = row_of(view, now)
                self.put(Painter().paint_whole(row, row.text))

    def _is_recent(self, view: StreamView) -> bool:
        ends = sorted((entry.ended_at for entry in self.entries.values() if entry.ended_at), reverse=True)
        return len(ends) < MOST_RECENT or (view.ended_at or 0) > ends[MOST_RECENT - 1]

    async def refresh(self, changed: set[uuid.UUID], now: int, pace: Pace) -> None:
        """Render what changed, including what changes with time alone."""
        if now // SECOND != self._second:
            self._second = now // SECOND
            self._age(now)
        touched: set[uuid.UUID] = set()
        try:
            await self._paint(changed.union(self._sources.due(now)), now, touched, pace)
            for stream_id in self._sources.take_lost():
                self.drop(stream_id)
        finally:  # also if whoever wanted it leaves midway
            self._touch(touched)

    async def _paint(self, stream_ids: Iterable[uuid.UUID], now: int, touched: set[uuid.UUID], pace: Pace) -> None:
        for stream_id in stream_ids:
            stream = self._feed.get(stream_id)
            if stream and self._paint_stream(stream, now):
                touched.add(stream_id)
            await pace.rest()

    def _paint_stream(self, stream: LiveStream, now: int) -> bool:
        try:
            source = self._sources.of(stream, now)
        except Exception:  # as below
            log.exception("could not read the row of %s", stream.id)
            return False
        return self._paint_row(source)

    def _paint_row(self, source: RowSource) -> bool:
        """Render a row; return whether it changed."""
        before, painter = self.entries.get(source.id), self._painters.get(source.id)
        if (before and before.group == "recent") or (painter is None and source.view is None):
            return False
        painter = painter or Painter()
        try:
            entry = painter.paint(source)
        except Exception:  # One bad row must not hold up the others.
            log.exception("could not draw the row of %s", source.id)
            return False
        if entry is None or entry is before:
            return False
        if entry.is_part and entry.group != "asks":
            # A run's call is shown with the run, unless a person is asked about it: until then, nothing of it is kept.
            self._painters.pop(source.id, None)
            return self.entries.pop(source.id, None) is not None
        self._painters[source.id] = painter
        self.entries[source.id] = entry
        return True

    async def take(self, sources: Iterable[RowSource], pace: Pace) -> None:
        """Take rows from another worker."""
        touched: set[uuid.UUID] = set()
        try:
            for source in sources:
                if self._paint_row(source):
                    touched.add(source.id)
                await pace.rest()
        finally:  # as above
            self._touch(touched)

    def put(self, entry: Entry) -> None:
        """Add or replace a row."""
        if self.entries.get(entry.id) != entry:
            self.entries[entry.id] = entry
            self._touch({entry.id})

    def drop(self, stream_id: uuid.UUID) -> None:
        """Remove a row."""
        self._painters.pop(stream_id, None)
        if self.entries.pop(stream_id, None):
            self._touch({stream_id})

    def forget_session(self, session_id: uuid.UUID) -> None:
        """Drop the rows of a deleted session's finished streams."""
        gone = [each.id for each in self.entries.values() if each.session_id == session_id and each.ended_at]
        for stream_id in gone:
            self.drop(stream_id)

    def _age(self, now: int) -> None:
        """Move rows that finished a while ago, or the older ones if many finish, to the list of recent ones, which is
        kept short too: history has them all."""
        self._feed.forget_old(now)
        limit = now - RECENT_SECONDS * SECOND
        over = sorted((entry for entry in self.entries.values() if entry.ended_at), key=lambda entry: entry.order)
        fresh = sum(entry.ended_at is not None and entry.ended_at >= limit for entry in over[:MOST_FINISHED])
        for place, entry in enumerate(over[fresh:]):
            self._painters.pop(entry.id, None)
            if place >= MOST_RECENT:
                self.drop(entry.id)
            elif entry.group != "recent":
                self.put(msgspec.structs.replace(entry, group="recent"))

    def _touch(self, stream_ids: set[uuid.UUID]) -> None:
        for listener in self._listeners:
            listener.touch(stream_ids)
