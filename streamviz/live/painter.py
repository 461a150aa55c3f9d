"""Painting rows of the Live page: all of a row about once a second, and in between what grows with each chunk."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from streamviz.live import wall_rendering
from streamviz.live.entries import Entry
from streamviz.live.filters import Facts
from streamviz.live.presentation.block_views import tail_line
from streamviz.live.presentation.rows import RowText, RowView, last_of
from streamviz.live.row_sources import RowSource

_WORD_CHARACTERS = 300  # no more than a filter can ask for
_NOTHING = object()

_Shown = TypeVar("_Shown")


class Painter:
    """Remembers what was painted of one stream's row; a part is painted again only when it shows something else."""

    def __init__(self) -> None:
        self._entry: Entry | None = None
        self._shown: dict[str, object] = {}

    def paint(self, source: RowSource) -> Entry | None:
        """The row; None where nothing but its text is known."""
        text = _text_of(source)
        if source.view is not None:
            return self.paint_whole(RowView(source.view, source.at, source.counts), text)
        if self._entry is not None and (changed := self._paint(wall_rendering.TEXT_PARTS, text)):
            self._entry = msgspec.structs.replace(self._entry, parts=self._entry.parts | changed)
        return self._entry

    def paint_whole(self, row: RowView, text: RowText) -> Entry:
        """All that changed of a row."""
        changed = self._paint(wall_rendering.ROW_PARTS, row) | self._paint(wall_rendering.TEXT_PARTS, text)
        self._entry = Entry(
            id=row.stream.id,
            group=row.state.group,
            order=_order(row),
            ended_at=row.stream.ended_at,
            facts=_facts(row),
            parts=self._entry.parts | changed if self._entry else changed,
            asked_by=tuple(block.asked_by for block in row.stream.asking),
            is_part=bool(row.stream.part),
        )
        return self._entry

    def _paint(self, parts: Mapping[str, wall_rendering.Part[_Shown]], shown: _Shown) -> dict[str, str]:
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


def _order(row: RowView) -> int:
    """Of those that ask the one with the least time left comes first, of those that wait the one that has waited
    longest, of the others the newest."""
    match row.state.group:
        case "asks":
            return min(block.decided_at or 0 for block in row.stream.asking)
        case "held":
            return min(block.held_at or 0 for block in row.stream.held)
        case "stalled":
            return row.stream.quiet_since
        case _:
            return -(row.stream.ended_at or row.stream.requested_at)


def _facts(row: RowView) -> Facts:
    stream = row.stream
    session = (stream.label, stream.session_known_as, str(stream.session_id))
    words = (*session, stream.model, stream.key_name, str(stream.id), row.why)
    holders = (name for block in stream.held for name in block.held_by)
    return Facts(
        model=_lower(stream.requested_model, stream.upstream_model),
        key=_lower(stream.key_name),
        session=_lower(*session),
        policy=_lower(*holders, *(verdict.policy for verdict in stream.verdicts)),
        verdict=_lower(*(verdict.word for verdict in stream.verdicts)),
        tool=_lower(*(block.name for block in stream.blocks if block.is_tool_call)),
        state=_lower(*_states(row)),
        text=" ".join(words).lower(),
    )


def _states(row: RowView) -> tuple[str, ...]:
    """What waits for a person is held, too."""
    held = ("held",) if row.stream.asking else ()
    return (row.state.word, *held, "running" if row.stream.is_running else "finished")


def _lower(*words: str) -> tuple[str, ...]:
    """Each word once, and of a word no more than a filter can ask for."""
    return tuple(dict.fromkeys(word[:_WORD_CHARACTERS].lower() for word in words if word))
