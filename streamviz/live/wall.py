"""The rows of the Live page, each painted once for all who watch, whatever their filters."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol
from weakref import WeakSet

import msgspec

from streamviz.live import rendering
from streamviz.live.entries import Entry
from streamviz.live.feed import RECENT_SECONDS, Feed
from streamviz.live.filters import Facts
from streamviz.live.presentation.from_live import view_of
from streamviz.live.presentation.rows import RowView, row_of
from streamviz.live.presentation.views import StreamView

SECOND = 1_000_000
# So many that ended longer ago stay in a list at the bottom; history has the others.
MOST_RECENT = 20
# Of those that have only just ended.
MOST_FINISHED = 40


class Listener(Protocol):
    """Is told which rows changed."""

    def touch(self, stream_id: uuid.UUID) -> None:
        """This row changed, came or went."""


class Painter:
    """Paints a row's parts, and each only when what it shows has changed."""

    def __init__(self) -> None:
        self._shown: dict[str, object] = {}
        self._parts: dict[str, str] = {}

    def paint(self, row: RowView) -> dict[str, str]:
        """All parts of the row."""
        changed = {}
        for part, shows in rendering.ROW_PARTS.items():
            shown = shows(row)
            if part not in self._shown or self._shown[part] != shown:
                self._shown[part] = shown
                # A plain text, as other workers are sent it.
                changed[part] = str.__str__(rendering.row_part(row, part))
        if changed:
            self._parts = self._parts | changed
        return self._parts


class Wall:
    """All rows that this worker knows of. Used from the event loop alone."""

    def __init__(self, feed: Feed, load_recent: Callable[[], Awaitable[Iterable[StreamView]]] | None = None) -> None:
        self.entries: dict[uuid.UUID, Entry] = {}
        self._feed = feed
        self._load_recent = load_recent
        self._painters: dict[uuid.UUID, Painter] = {}
        self._listeners: WeakSet[Listener] = WeakSet()
        self._second = 0
        self.looked_at = 0

    @property
    def is_watched(self) -> bool:
        return bool(self._listeners)

    @property
    def tally(self) -> dict[str, int]:
        """How many streams there are of each state; `running` are all that have not ended."""
        sizes = Counter(entry.group for entry in self.entries.values())
        return {
            "running": sizes["running"] + sizes["held"] + sizes["stalled"],
            "held": sizes["held"],
            "stalled": sizes["stalled"],
        }

    def listen(self, listener: Listener) -> None:
        """Tell it of each change, as long as it lives."""
        self._listeners.add(listener)

    def ignore(self, listener: Listener) -> None:
        """Tell it nothing any more."""
        self._listeners.discard(listener)

    async def catch_up(self, now: int) -> None:
        """Look at everything, for somebody who begins to watch."""
        if not self.is_watched:
            await self.look_at_record(now)
        await self.refresh({*self._feed.running, *self._feed.finished}, now)

    async def look_at_record(self, now: int) -> None:
        """Show what has ended without this worker, as the streams of one that was killed have."""
        self.looked_at = now
        if self._load_recent is None:
            return
        for view in await self._load_recent():
            if view.id not in self.entries and self._is_recent(view):
                self.put(entry_of(row_of(view, now), Painter()))

    def _is_recent(self, view: StreamView) -> bool:
        ends = sorted((entry.ended_at for entry in self.entries.values() if entry.ended_at), reverse=True)
        return len(ends) < MOST_RECENT or (view.ended_at or 0) > ends[MOST_RECENT - 1]

    async def refresh(self, changed: set[uuid.UUID], now: int) -> None:
        """Paint what changed; once a second all that runs, because rates, and what is stalled, change with time."""
        if now // SECOND != self._second:
            self._second = now // SECOND
            changed = changed | self._feed.running.keys()
            self._age(now)
        for stream_id in sorted(changed):
            if stream := self._feed.get(stream_id):
                row = row_of(view_of(stream), now)
                self.put(entry_of(row, self._painters.setdefault(stream_id, Painter())))
                await asyncio.sleep(0)

    def put(self, entry: Entry) -> None:
        """A row came or changed."""
        if self.entries.get(entry.id) != entry:
            self.entries[entry.id] = entry
            self._touch(entry.id)

    def drop(self, stream_id: uuid.UUID) -> None:
        """A row is gone."""
        if self.entries.pop(stream_id, None):
            self._touch(stream_id)

    def _age(self, now: int) -> None:
        """Those that finished a while ago, or when many finish the older ones, are moved to the list of recent ones,
        which is kept short too: history has them all."""
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

    def _touch(self, stream_id: uuid.UUID) -> None:
        for listener in self._listeners:
            listener.touch(stream_id)


def entry_of(row: RowView, painter: Painter) -> Entry:
    """The row as all can show it; `painter` knows what was painted of it before."""
    stream, group = row.stream, row.state.group
    return Entry(
        id=stream.id,
        group=group,
        order=_order(row),
        ended_at=stream.ended_at,
        facts=_facts(row),
        parts=painter.paint(row),
    )


def _order(row: RowView) -> int:
    """Of those that wait the one that has waited longest comes first, of the others the newest."""
    match row.state.group:
        case "held":
            return min(block.held_at or 0 for block in row.stream.held)
        case "stalled":
            return row.stream.quiet_since
        case _:
            return -(row.stream.ended_at or row.stream.requested_at)


def _facts(row: RowView) -> Facts:
    stream = row.stream
    words = (stream.label, stream.model, stream.key_name, str(stream.id), row.why)
    holders = (name for block in stream.held for name in block.held_by)
    return Facts(
        model=_lower(stream.requested_model, stream.upstream_model),
        key=_lower(stream.key_name),
        policy=_lower(*holders, *(verdict.policy for verdict in stream.verdicts)),
        verdict=_lower(*(verdict.word for verdict in stream.verdicts)),
        tool=_lower(*(block.name for block in stream.blocks if block.is_tool_call)),
        state=_lower(row.state.word, *(["running"] if stream.is_running else ["finished"])),
        text=" ".join(words).lower(),
    )


def _lower(*words: str) -> tuple[str, ...]:
    """Each word once, and of a word no more than a filter can ask for."""
    return tuple(dict.fromkeys(word[:300].lower() for word in words if word))
