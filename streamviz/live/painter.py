"""Rendering rows of the Live page: a whole row about once a second, and in between what grows with each chunk."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from streamviz.live.entries import Entry
from streamviz.live.filter_terms import Facts
from streamviz.live.presentation.block_views import tail_line
from streamviz.live.presentation.rows import RowText, RowView, last_of
from streamviz.live.row_facts import facts_of, order_of
from streamviz.live.row_parts import ROW_PARTS, TEXT_PARTS, Part
from streamviz.live.row_sources import RowSource

_NOTHING = object()

_Shown = TypeVar("_Shown")


class Painter:
    """Remembers what was rendered of one stream's row; a part is rendered again only if what it shows has changed."""

    def __init__(self) -> None:
        self._entry: Entry | None = None
        self._shown: dict[str, object] = {}

    def paint(self, source: RowSource) -> Entry | None:
        """The row; None if only its text is known."""
        text = _text_of(source)
        if source.view is not None:
            return self.paint_whole(RowView(source.view, source.at, source.counts), text)
        if self._entry is not None and (changed := self._paint(TEXT_PARTS, text)):
            self._entry = msgspec.structs.replace(self._entry, parts=self._entry.parts | changed)
        return self._entry

    def paint_whole(self, row: RowView, text: RowText) -> Entry:
        """Render what has changed of a whole row."""
        changed = self._paint(ROW_PARTS, row) | self._paint(TEXT_PARTS, text)
        self._entry = Entry(
            id=row.stream.id,
            session_id=row.stream.session_id,
            group=row.state.group,
            order=order_of(row),
            ended_at=row.stream.ended_at,
            facts=self._facts(row),
            parts=self._entry.parts | changed if self._entry else changed,
            asked_by=tuple(block.asked_by for block in row.stream.asking),
            asked_at=max((block.asked_at for block in row.stream.asking), default=0),
            is_part=bool(row.stream.part),
        )
        return self._entry

    def _facts(self, row: RowView) -> Facts:
        """The same object as long as they are equal, so that filters are only applied to facts that changed."""
        facts = facts_of(row)
        return self._entry.facts if self._entry and self._entry.facts == facts else facts

    def _paint(self, parts: Mapping[str, Part[_Shown]], shown: _Shown) -> dict[str, str]:
        changed = {}
        for name, part in parts.items():
            shows = part.shows(shown)
            if self._shown.get(name, _NOTHING) != shows:
                self._shown[name] = shows
                changed[name] = part.paint(shown)
        return changed


def _text_of(source: RowSource) -> RowText:
    tail = source.tail
    line = "" if tail.kind is None else tail_line(tail.kind, tail.name, tail.ending)
    return RowText(source.id, tail.ended_at is None, line, last_of(tail.quiet_since, tail.ended_at, source.at))
