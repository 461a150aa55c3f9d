"""The rows of the two tapes as a page shows them: what each side says, what happened between, who did it, how long."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log10
from typing import NamedTuple

from streamviz.core.context import OURSELVES
from streamviz.core.differences import Differ, Part
from streamviz.core.events import UsageUpdated
from streamviz.core.lint.linter import Note
from streamviz.core.tapes import Fate, Row, Tapes
from streamviz.core.timeline import NOBODY, Timeline
from streamviz.live.presentation import marks
from streamviz.live.presentation.block_views import BlockView
from streamviz.live.presentation.figures import UNKNOWN, plural
from streamviz.live.presentation.tape_words import words_in
from streamviz.live.presentation.views import StreamView

ROWS_A_PAGE = 200
_MOST_TEXT = 4_000
_RUN_TEXT = 160
_LOOKED_AT = 100
# A bar's length is the wait on a log scale; it is full at a minute.
_SHORTEST, _LONGEST = 3, 7.8


class FateMark(NamedTuple):
    """How a fate looks."""

    word: str
    icon: str
    css: str
    tone: str


FATES = {
    Fate.PASSED: FateMark("passed", "pass", "is-passed", ""),
    Fate.DELAYED: FateMark("delayed", "hold", "is-delayed", "tone-wait"),
    Fate.REPLACED: FateMark("replaced", "replace", "is-replaced", "tone-replace"),
    Fate.DROPPED: FateMark("dropped", "deny", "is-dropped", "tone-deny"),
    Fate.INJECTED: FateMark("injected", "inject", "is-injected", ""),
}


class RowView(NamedTuple):
    """A row. `parts` are both sides' words, split where they differ; times are seconds after the request, as text."""

    number: int
    row: Row
    fate: FateMark
    block: BlockView | None
    seqs: str
    frames: str
    size: str
    parts: Sequence[Part]
    received: str
    sent: str
    what: str
    by: str
    meter: int | None
    lost: str
    notes: Sequence[Note]

    @property
    def css(self) -> str:
        return f"{self.fate.css} is-run" if self.row.is_run else self.fate.css

    @property
    def has_both(self) -> bool:
        """Whether the client's side has words of its own."""
        return self.row.waited is None


class Bare(NamedTuple):
    """The beginnings of chunks and of frames that say nothing about the answer, by number."""

    upstream: Mapping[int, bytes]
    client: Mapping[int, bytes]


class Rows:
    """Makes the rows of one stream's tapes."""

    def __init__(self, stream: StreamView, tapes: Tapes, bare: Bare, notes: Sequence[Note]) -> None:
        self._stream = stream
        self._tapes = tapes
        self._bare = bare
        self._notes = notes
        self._differ = Differ()

    def shown(self, numbered: Iterable[tuple[int, Row]]) -> list[RowView]:
        """These rows, each with its number."""
        return [self._shown(number, row) for number, row in numbered]

    def _shown(self, number: int, row: Row) -> RowView:
        lost = [seq for seq in row.seqs if seq in self._tapes.lost]
        up = words_in(self._tapes.upstream, row.seqs, self._bare.upstream, _RUN_TEXT if row.is_run else _MOST_TEXT)
        down = "" if row.waited is not None else self._down(row)
        return RowView(
            number=number,
            row=row,
            fate=FATES[row.fate],
            block=self._block(row.owner),
            seqs=_numbers(row.seqs),
            frames=_numbers(row.frames),
            size=plural(len(row.seqs), "chunk") if len(row.seqs) > 1 else "",
            parts=self._differ.parts(up, down) if row.fate is Fate.REPLACED and not lost else [Part(up, down)],
            received=self._times(self._tapes.upstream, row.seqs),
            sent=self._times(self._tapes.client, row.frames),
            what=self._what(row, bool(lost), up == down),
            by=self._by(row),
            meter=_meter(self._waited(row)),
            notes=[note for note in self._notes if note.seq in row.seqs],
            lost=f"{plural(len(lost), 'chunk')}, not kept: a policy masks what they said." if lost else "",
        )

    def _down(self, row: Row) -> str:
        return words_in(self._tapes.client, row.frames, self._bare.client, _MOST_TEXT)

    def _block(self, ordinal: int) -> BlockView | None:
        return self._stream.blocks[ordinal] if 0 <= ordinal < len(self._stream.blocks) else None

    def _times(self, timeline: Timeline, numbers: range) -> str:
        if not numbers:
            return ""
        first, last = (self._seconds(timeline.at(number)) for number in (numbers[0], numbers[-1]))
        return first if first == last else f"{first} → {last}"

    def _seconds(self, at: int) -> str:
        return f"{(at - self._stream.requested_at) / 1_000_000:.3f}"

    def _waited(self, row: Row) -> int | None:
        """How long something was kept back (µs); None if it was not."""
        if row.fate is Fate.DELAYED:
            return row.waited
        if row.fate is Fate.REPLACED:
            return self._tapes.client.at(row.frames[-1]) - self._tapes.upstream.at(row.seqs[0])
        block = self._block(row.owner)
        return block.hold if row.fate is Fate.DROPPED and block else None

    def _what(self, row: Row, is_masked: bool, is_same: bool) -> str:
        match row.fate:
            case Fate.PASSED if row.is_run:
                return f"{len(row.seqs):,} passed, {_delay(row.waited)}"
            case Fate.PASSED:
                return f"passed, {_delay(row.waited)}"
            case Fate.DELAYED:
                return f"delayed {_delay(row.waited).removeprefix('+')}"
            case Fate.REPLACED if is_masked:
                return "masked"
            case Fate.REPLACED if is_same:
                return "rewritten"
            case _:
                return FATES[row.fate].word

    def _by(self, row: Row) -> str:
        """Who did it, in words."""
        match row.fate:
            case Fate.DELAYED if row.held is None:
                return "a policy that looks back"
            case Fate.DELAYED if row.held is not None and row.held.ordinal != row.owner:
                block = self._block(row.held.ordinal)
                return f"behind {block.title if block else 'another block'}"
            case Fate.DELAYED if row.held is not None:
                return ", ".join(row.held.by)
            case Fate.DROPPED:
                return self._dropped_by(row)
            case Fate.REPLACED | Fate.INJECTED:
                return row.origin or OURSELVES
            case _:
                return ""

    def _dropped_by(self, row: Row) -> str:
        of_block = [each for each in self._stream.verdicts if each.ordinal == row.owner != NOBODY]
        whole = [each for each in self._stream.verdicts if each.ordinal is None]
        names = [each.policy for each in of_block or whole if each.intervened]
        if names:
            return ", ".join(dict.fromkeys(names))
        told = [event for seq in row.seqs[:_LOOKED_AT] for event in self._tapes.upstream.told(seq)]
        if told and all(isinstance(event, UsageUpdated) for event in told):
            return "usage that the client did not ask for"
        state = marks.OUTCOMES.get(self._stream.outcome)
        return "" if state is None or state.word == "completed" else state.word


def _numbers(numbers: range) -> str:
    if not numbers:
        return ""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"


def _delay(microseconds: int | None) -> str:
    if microseconds is None:
        return UNKNOWN
    if microseconds < 10_000:
        return f"+{microseconds / 1_000:.1f} ms"
    return f"+{microseconds / 1_000:.0f} ms" if microseconds < 1_000_000 else f"+{microseconds / 1_000_000:.2f} s"


def _meter(waited: int | None) -> int | None:
    """How much of the bar a wait fills, in per cent; None if it is too short."""
    if not waited or waited < 1_000:
        return None
    return max(4, min(100, round((log10(waited) - _SHORTEST) / (_LONGEST - _SHORTEST) * 100)))


def counted(rows: Iterable[Row]) -> dict[Fate, int]:
    """How many chunks, or frames without a chunk, met each fate."""
    counts = dict.fromkeys(Fate, 0)
    for row in rows:
        counts[row.fate] += len(row.seqs) or len(row.frames)
    return counts


def told_apart(rows: Sequence[Row]) -> Iterator[int]:
    """The numbers of the rows in which something happened."""
    return (number for number, row in enumerate(rows) if row.fate is not Fate.PASSED)
