"""The Live page as one filter shows it: rows in groups, updated with what changed."""

import uuid
from bisect import bisect_left, insort
from collections.abc import AsyncIterator

from streamviz.live import rendering, row_parts, wall_rendering
from streamviz.live.entries import Entry
from streamviz.live.filter_terms import Facts
from streamviz.live.filters import EVERYTHING, Filter
from streamviz.live.fleet_members import SCREENS
from streamviz.live.pace import Pace
from streamviz.live.topics import Update
from streamviz.live.wall import Wall

# How many rows of a group are on the page: nobody reads more, and filters find any of them.
MOST_ROWS = 100
_TEXT_PARTS = {"strip", "rate", *row_parts.TEXT_PARTS}
_Place = tuple[int, uuid.UUID]


class WallTopic:
    """Remembers what browsers have. A row moves if its group or its place changes; otherwise only its parts change.

    Browsers have the first rows of each group, and the number of the rest: a row can be pushed out of them when another
    comes, and move up when one goes.
    """

    is_over = False

    def __init__(self, wall: Wall, wanted: Filter = EVERYTHING) -> None:
        self._wall = wall
        self._filter = wanted
        self._shown: dict[uuid.UUID, Entry] = {}
        self._groups: dict[str, list[_Place]] = {name: [] for name in wall_rendering.GROUP_TITLES}
        self._pending: set[uuid.UUID] = set()
        self._numbers = ""
        self._matched: dict[uuid.UUID, tuple[Facts, bool]] = {}
        for entry in wall.entries.values():
            if self._matches(entry):
                self._place(entry)
        wall.listen(self)

    def touch(self, stream_ids: set[uuid.UUID]) -> None:
        """Called by the wall."""
        self._pending |= stream_ids

    async def updates(self, changed: set[uuid.UUID], now: int, pace: Pace) -> AsyncIterator[Update]:
        pending, self._pending = self._pending, set()
        moves: list[str] = []
        texts: dict[uuid.UUID, list[str]] = {}
        # The order here does not matter: fragments say where their rows belong.
        for stream_id in pending:
            row_moves, row_texts = self._look_at(stream_id)
            moves += row_moves
            if row_texts:
                texts[stream_id] = row_texts
            await pace.rest()
        if (numbers := self._render_numbers()) != self._numbers:
            self._numbers = numbers
            moves.append(numbers)
        if moves:
            yield Update("".join(moves), is_text=False)
        # Other rows may have pushed one out after its text was looked at.
        if text := "".join(html for stream_id, told in texts.items() if self._is_shown(stream_id) for html in told):
            yield Update(text, is_text=True)

    async def snapshot(self, now: int, pace: Pace) -> str:
        html = await self.html(pace, oob=True) + self._render_numbers()
        self._numbers = ""  # may differ from those last sent: the next updates send them again
        return html

    async def html(self, pace: Pace, *, oob: bool = False) -> str:
        """The whole list."""
        groups = [
            wall_rendering.Group(name, [self._shown[each] for _, each in places[:MOST_ROWS]], len(places))
            for name, places in self._groups.items()
        ]
        return await wall_rendering.wall(groups, pace, is_filtered=bool(self._filter.terms), oob=oob)

    def _look_at(self, stream_id: uuid.UUID) -> tuple[list[str], list[str]]:
        """What to send about a stream: moves and verdicts, and what is only text."""
        old, new = self._shown.get(stream_id), self._wall.entries.get(stream_id)
        if new is None:
            self._matched.pop(stream_id, None)
        if new is None or not self._matches(new):
            return self._remove(old), []
        if old is None or (old.group, old.order) != (new.group, new.order):
            return [*self._remove(old), *self._insert(new)], []
        self._shown[stream_id] = new
        if not self._is_on_page(new):
            return [], []
        parts = row_parts.parts_of(new.group)
        changed = {part: new.parts[part] for part in parts if old.parts[part] != new.parts[part]}
        texts = [wall_rendering.as_update(html) for part, html in changed.items() if part in _TEXT_PARTS]
        return [wall_rendering.as_update(html) for part, html in changed.items() if part not in _TEXT_PARTS], texts

    def _matches(self, entry: Entry) -> bool:
        """Whether the filter matches. Facts are the same object as long as they are equal."""
        facts, is_wanted = self._matched.get(entry.id, (None, False))
        if facts is not entry.facts:
            is_wanted = self._filter.matches(entry.facts)
            self._matched[entry.id] = entry.facts, is_wanted
        return is_wanted

    def _remove(self, entry: Entry | None) -> list[str]:
        if entry is None:
            return []
        del self._shown[entry.id]
        places = self._groups[entry.group]
        at = bisect_left(places, (entry.order, entry.id))
        del places[at]
        if at >= MOST_ROWS:
            return []
        follows = [self._come(entry.group, MOST_ROWS - 1)] if len(places) >= MOST_ROWS else []
        return [_go(entry.id), *follows]

    def _insert(self, entry: Entry) -> list[str]:
        at = self._place(entry)
        places = self._groups[entry.group]
        if at >= MOST_ROWS:
            return []
        pushed_out = [_go(places[MOST_ROWS][1])] if len(places) > MOST_ROWS else []
        return [self._come(entry.group, at), *pushed_out]

    def _come(self, group: str, at: int) -> str:
        """Insert the row at this place, which the page does not have."""
        places = self._groups[group]
        where = f"afterend:#r-{places[at - 1][1].hex}" if at else f"afterbegin:#group-{group}"
        return rendering.insertion(where, "ul", wall_rendering.row(self._shown[places[at][1]]))

    def _is_shown(self, stream_id: uuid.UUID) -> bool:
        entry = self._shown.get(stream_id)
        return entry is not None and self._is_on_page(entry)

    def _is_on_page(self, entry: Entry) -> bool:
        places = self._groups[entry.group]
        return len(places) <= MOST_ROWS or (entry.order, entry.id) < places[MOST_ROWS]

    def _place(self, entry: Entry) -> int:
        """Put it into its group; return its place there."""
        self._shown[entry.id] = entry
        places = self._groups[entry.group]
        insort(places, (entry.order, entry.id))
        return bisect_left(places, (entry.order, entry.id))

    def _render_numbers(self) -> str:
        counts = [wall_rendering.group_count(name, len(ids), MOST_ROWS) for name, ids in self._groups.items()]
        tally, others_away = self._wall.tally, self._wall.are_others_away
        shown = rendering.fragment("_tally", tally=tally, others_away=others_away, oob=True)
        newest = self._wall.newest_ask
        asking = rendering.asking_shown(tally["asks"], newest, others_away=others_away, teller=SCREENS)
        return "".join(counts) + shown + rendering.nav_asks(asking)


def _go(stream_id: uuid.UUID) -> str:
    return rendering.removal(f"r-{stream_id.hex}", "li")
