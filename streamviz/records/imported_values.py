"""Check what an export's lines say before it is stored: a file may be damaged, or written by anyone."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

import msgspec

from streamviz.core.events import BlockKind
from streamviz.core.judgements import Subject
from streamviz.core.outcome import Outcome
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import AGGREGATORS
from streamviz.records.block_record import BlockRecord
from streamviz.records.columns import MOMENT
from streamviz.records.models.streams import Relation
from streamviz.records.moments import as_microseconds
from streamviz.records.recorder import ChunksReceived, FramesSent, StreamClosed, StreamOpened
from streamviz.records.tables import BLOCK, CLOSED, OPENED, VERDICT, Table
from streamviz.records.verdict_record import VerdictRecord

# How far ahead a time may be, because clocks differ.
AHEAD = timedelta(days=1)

# Before there was any model to call.
_EARLIEST = as_microseconds(datetime(2015, 1, 1, tzinfo=UTC))

# Fields that are stored as text, but of which pages know only these values.
_WORDS: dict[type, dict[str, frozenset[str]]] = {
    StreamOpened: {"wire_format": frozenset(AGGREGATORS), "relation": frozenset(["", *Relation.values])},
    StreamClosed: {"outcome": frozenset(Outcome)},
    BlockRecord: {"kind": frozenset(BlockKind)},
    VerdictRecord: {"mode": frozenset(Mode), "decision": frozenset(Decision), "subject": frozenset(Subject)},
}


def _moments_in(table: Table) -> list[str]:
    return [column.field for column in table.columns if column.kept is MOMENT]


_MOMENTS: dict[type, list[str]] = {
    StreamOpened: _moments_in(OPENED),
    StreamClosed: _moments_in(CLOSED),
    BlockRecord: _moments_in(BLOCK),
    VerdictRecord: _moments_in(VERDICT),
    ChunksReceived: ["received_at"],
    FramesSent: ["sent_at"],
}

_TWICE = "is in the file twice or out of order"
Entry = TypeVar("Entry", bound=msgspec.Struct)


def checked(entry: Entry) -> Entry:
    """The same entry. Raises ValueError if a field has the wrong type, a value that is not among those allowed, or an
    impossible time."""
    entry = msgspec.convert(msgspec.to_builtins(entry), type(entry))
    for name, words in _WORDS.get(type(entry), {}).items():
        if getattr(entry, name) not in words:
            raise ValueError(f"its {name} is not one this version knows")
    latest = as_microseconds(datetime.now(UTC) + AHEAD)
    for name in _MOMENTS[type(entry)]:
        if (at := getattr(entry, name)) is not None and not _EARLIEST <= at <= latest:
            raise ValueError(f"its {name} is impossible")
    return entry


def require_natural(*numbers: int) -> None:
    """Raise ValueError for a negative number, which the archive would not take."""
    if min(numbers) < 0:
        raise ValueError("a number is negative")


class Order:
    """Raises ValueError for a line that is in a file twice: both would be stored or, if they are a stream's, only the
    first of them, without what belongs to it. An export has everything in order."""

    def __init__(self) -> None:
        self._streams: set[UUID] = set()
        self._last: dict[str, int] = {}

    def session(self) -> None:
        """A session begins; a list has it again for its later streams."""
        self._streams.clear()

    def stream(self, stream_id: UUID) -> None:
        """A stream begins."""
        if stream_id in self._streams:
            raise ValueError(f"the stream {stream_id} {_TWICE}")
        self._streams.add(stream_id)
        self._last.clear()

    def line(self, what: str, number: int) -> None:
        """One of the stream's blocks, verdicts, chunks or frames comes, with its number among these."""
        if number <= self._last.get(what, -1):
            raise ValueError(f"the {what} {number} {_TWICE}")
        self._last[what] = number
