"""All streams of this worker, for the Live page: a row each, in groups."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

from streamviz.live import rendering
from streamviz.live.feed import Feed, feed, now_us
from streamviz.live.presentation.from_live import view_of
from streamviz.live.presentation.rows import RowView, row_of
from streamviz.live.streams import LiveStream
from streamviz.live.topics import Update, count_held

_SECOND = 1_000_000
_GROUPS = tuple(rendering.GROUP_TITLES)
# Those who wait longest are on top; of the others the newest.
_AT_THE_END = {"held", "stalled"}
_TEXT_PARTS = {"strip", "tail", "rate", "time"}


class WallTopic:
    """A row moves when its state changes, and otherwise only those of its parts go out that look different."""

    is_over = False

    def __init__(self, feed: Feed, now: int) -> None:
        self._feed = feed
        self._second = 0
        self._words: dict[uuid.UUID, str] = {}
        self._parts: dict[uuid.UUID, dict[str, str]] = {}
        self._groups: dict[str, list[uuid.UUID]] = {name: [] for name in _GROUPS}
        self._numbers = ""
        for stream in sorted([*feed.finished.values(), *feed.running.values()], key=_order):
            self._place(stream.id, row_of(view_of(stream), now))

    async def updates(self, changed: set[uuid.UUID], now: int) -> AsyncIterator[Update]:
        moves, texts = [], []
        for stream_id in self._to_look_at(changed, now):
            row_moves, row_texts = self._look_at(stream_id, now)
            moves += row_moves
            texts += row_texts
            await asyncio.sleep(0)
        if (numbers := self._render_numbers()) != self._numbers:
            self._numbers = numbers
            moves.append(numbers)
        if moves:
            yield Update("".join(moves), is_text=False)
        if texts:
            yield Update("".join(texts), is_text=True)

    async def snapshot(self, now: int) -> str:
        return await rendering.wall(self.rows(now), oob=True) + self._render_numbers()

    def rows(self, now: int) -> list[tuple[str, list[RowView]]]:
        """The groups with their rows."""
        return [
            (name, list(filter(None, (self._row(each, now) for each in ids)))) for name, ids in self._groups.items()
        ]

    @property
    def tally(self) -> dict[str, int]:
        """How many streams there are of each state."""
        sizes = {name: len(ids) for name, ids in self._groups.items()}
        return sizes | {"running": sizes["running"] + sizes["held"] + sizes["stalled"]}

    def _to_look_at(self, changed: set[uuid.UUID], now: int) -> list[uuid.UUID]:
        """Those that changed; once a second all, because rates, and what counts as stalled, change with time.

        The oldest first, as ids sort by time: of rows that come together the newest is put on top last.
        """
        if now // _SECOND == self._second:
            return sorted(changed)
        self._second = now // _SECOND
        self._feed.forget_old()
        return sorted(changed | self._words.keys() | self._feed.running.keys())

    def _row(self, stream_id: uuid.UUID, now: int) -> RowView | None:
        stream = self._feed.get(stream_id)
        return row_of(view_of(stream), now) if stream else None

    def _look_at(self, stream_id: uuid.UUID, now: int) -> tuple[list[str], list[str]]:
        """What must be told of a stream: moves and verdicts, and what is only text."""
        row = self._row(stream_id, now)
        if row is None:
            return self._remove(stream_id), []
        if self._words.get(stream_id) != row.state.word:
            return [*self._remove(stream_id), self._insert(stream_id, row)], []
        changes = dict(self._changed_parts(stream_id, row))
        texts = [html for part, html in changes.items() if part in _TEXT_PARTS]
        return [html for part, html in changes.items() if part not in _TEXT_PARTS], texts

    def _changed_parts(self, stream_id: uuid.UUID, row: RowView) -> Iterator[tuple[str, str]]:
        known = self._parts.setdefault(stream_id, {})
        for part in rendering.ROW_PARTS:
            html = rendering.row_part(row, part)
            if known.get(part) != html:
                known[part] = html
                yield part, html

    def _remove(self, stream_id: uuid.UUID) -> list[str]:
        if self._words.pop(stream_id, None) is None:
            return []
        self._parts.pop(stream_id, None)
        for ids in self._groups.values():
            if stream_id in ids:
                ids.remove(stream_id)
        return [f'<li id="r-{stream_id.hex}" hx-swap-oob="delete"></li>']

    def _insert(self, stream_id: uuid.UUID, row: RowView) -> str:
        side = self._place(stream_id, row)
        return f'<ul hx-swap-oob="{side}:#group-{row.state.group}">{rendering.row(row)}</ul>'

    def _place(self, stream_id: uuid.UUID, row: RowView) -> str:
        """Put it in its group; gives the side of the list it went to."""
        self._words[stream_id] = row.state.word
        group = self._groups[row.state.group]
        is_at_end = row.state.group in _AT_THE_END
        group.insert(len(group) if is_at_end else 0, stream_id)
        return "beforeend" if is_at_end else "afterbegin"

    def _render_numbers(self) -> str:
        counts = [rendering.fragment("_group_count", name=name, number=len(ids)) for name, ids in self._groups.items()]
        tally = rendering.fragment("_tally", tally=self.tally, oob=True)
        return "".join(counts) + tally + rendering.nav_held(count_held(self._feed), oob=True)


def _order(stream: LiveStream) -> int:
    return stream.ended_at or stream.requested_at


def current_wall() -> WallTopic:
    """The wall of this worker as it is now, for the first paint."""
    return WallTopic(feed, now_us())
