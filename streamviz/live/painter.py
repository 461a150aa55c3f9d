"""Painting rows of the Live page: all of a row about once a second, and in between what grows with each chunk."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from streamviz.live import rendering
from streamviz.live.entries import Entry
from streamviz.live.filters import Facts
from streamviz.live.presentation.from_live import tail_of, view_of
from streamviz.live.presentation.rows import RowText, RowView, last_of, row_of
from streamviz.live.streams import LiveStream

SECOND = 1_000_000
_WORD_CHARACTERS = 300  # no more than a filter can ask for
_NOTHING = object()

_Shown = TypeVar("_Shown")


class Painter:
    """Remembers what was painted of one stream's row; a part is painted again only when it shows something else."""

    def __init__(self) -> None:
        self._entry: Entry | None = None
        self._shown: dict[str, object] = {}
        self._standing: tuple[object, ...] = ()
        self._second = -1

    def is_due(self, stream: LiveStream, now: int) -> bool:
        """Whether a second is over: rates, and what is stalled, change with time."""
        return _second_of(stream, now) != self._second

    def paint(self, stream: LiveStream, now: int) -> Entry:
        """The row of a stream that runs here, or has just ended."""
        standing, second = _standing_of(stream), _second_of(stream, now)
        entry = self._entry
        if entry is None or entry.group == "stalled" or (standing, second) != (self._standing, self._second):
            self._standing, self._second = standing, second
            return self.paint_whole(row_of(view_of(stream), now))
        changed = self._paint(rendering.TEXT_PARTS, _text_of(stream, now))
        self._entry = msgspec.structs.replace(entry, parts=entry.parts | changed) if changed else entry
        return self._entry

    def paint_whole(self, row: RowView) -> Entry:
        """All that changed of a row."""
        changed = self._paint(rendering.ROW_PARTS, row) | self._paint(rendering.TEXT_PARTS, row.text)
        self._entry = Entry(
            id=row.stream.id,
            group=row.state.group,
            order=_order(row),
            ended_at=row.stream.ended_at,
            facts=_facts(row),
            parts=self._entry.parts | changed if self._entry else changed,
        )
        return self._entry

    def _paint(self, parts: Mapping[str, rendering.Part[_Shown]], shown: _Shown) -> dict[str, str]:
        changed = {}
        for name, part in parts.items():
            shows = part.shows(shown)
            if self._shown.get(name, _NOTHING) != shows:
                self._shown[name] = shows
                # A plain text, as other workers are sent it.
                changed[name] = str.__str__(part.paint(shown))
        return changed


def _second_of(stream: LiveStream, now: int) -> int:
    """Each row's seconds begin at another moment, so that not all are painted at once; what is over stands still."""
    return 0 if stream.outcome else (now + stream.id.int % SECOND) // SECOND


def _standing_of(stream: LiveStream) -> tuple[object, ...]:
    """What a row shows beside its text, in short: while it is the same, only the text can have changed.

    Lesser things, such as a block's length or a name that comes late, are seen when all is painted again.
    """
    context = stream.context
    holds = [(hold.released_at, hold.until) for hold in context.holds.values()]
    return stream.outcome, len(stream.state.blocks), len(context.judgements), holds


def _text_of(stream: LiveStream, now: int) -> RowText:
    received_at = stream.received_at
    quiet_since = received_at[-1] if received_at else stream.requested_at
    return RowText(stream.id, not stream.outcome, tail_of(stream), last_of(quiet_since, stream.ended_at, now))


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
    return tuple(dict.fromkeys(word[:_WORD_CHARACTERS].lower() for word in words if word))
