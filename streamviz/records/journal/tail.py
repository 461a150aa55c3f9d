"""Read a journal while its worker appends to it."""

import logging
import os
from pathlib import Path

from streamviz.records.journal import folder
from streamviz.records.journal.decoding import length_at, next_record, placed_in
from streamviz.records.journal.encoding import HEADER
from streamviz.records.recorder import AnyEntry

log = logging.getLogger(__name__)

READ_BYTES = 1024 * 1024
# The offset of an entry's record in its segment, and the entry.
Placed = tuple[int, AnyEntry]


class Tail:
    """Gives the entries of one journal in order, each once, beginning with the oldest existing segment.

    From a damaged segment it gives all records that are whole, and the file is kept aside.
    """

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self.number = 0
        # Whether the last read left entries unread that were already there.
        self.is_behind = False
        self._file = -1
        self._place = 0
        self._marker = b""
        self._damaged: set[int] = set()

    def read(self, is_abandoned: bool) -> list[AnyEntry]:
        """Like `read_placed`, without the offsets."""
        return [entry for _, entry in self.read_placed(is_abandoned)]

    def read_placed(self, is_abandoned: bool) -> list[Placed]:
        """Some of the new entries, all from one segment (`number`), each with the offset of its record there; empty if
        there is nothing more for now.

        `is_abandoned` says that the worker has ended; a record that it left half written is then cut off.
        """
        while True:
            # Looked for before the present segment is read, as nothing is appended to that once there is a next one.
            following = self._following()
            if placed := self._read_segment():
                self.is_behind |= following is not None
                return placed
            self.is_behind = False
            if following is None and not is_abandoned:
                return []
            self._cut_the_rest(is_last=following is None)
            if following is None:
                return []
            self._open(following)

    def remove_before(self, number: int) -> None:
        """Remove the segments before this one, whose entries are all stored. Damaged ones are moved aside instead."""
        for older in folder.segments(self.journal):
            if older < number:
                self._remove(older)

    def close(self) -> None:
        """Close the open segment."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _remove(self, number: int) -> None:
        if number in self._damaged:
            log.error("the damaged segment is kept in %s", folder.keep_damaged(self.journal, number))
        else:
            folder.segment(self.journal, number).unlink()

    def _following(self) -> int | None:
        return next((number for number in folder.segments(self.journal) if number > self.number), None)

    def _open(self, number: int) -> None:
        self.close()
        path = folder.segment(self.journal, number)
        self._file = os.open(path, os.O_RDONLY)
        self._marker = folder.marker(path)
        self.number, self._place = number, 0

    def _read_segment(self) -> list[Placed]:
        if self._file < 0:
            return []
        data = os.pread(self._file, READ_BYTES, self._place)
        placed, read = placed_in(data, self._marker)
        self.is_behind = len(data) >= READ_BYTES
        if data and not placed:
            placed, read = self._read_more()
        start, self._place = self._place, self._place + read
        return [(start + place, entry) for place, entry in placed]

    def _read_more(self) -> tuple[list[Placed], int]:
        """The next record, if it is larger than one read or comes after damage, and how many bytes that reaches."""
        # Never read more than there is: a damaged length may ask for gigabytes.
        rest = self._rest()
        needed = length_at(rest, 0, self._marker)
        if needed is not None and needed <= len(rest):
            placed, read = placed_in(rest[:needed], self._marker)
            if placed:
                return placed, read
        behind = next_record(rest, self._marker)
        if behind is None:
            return [], 0
        self._note_damage(behind)
        placed, read = placed_in(rest[behind : behind + READ_BYTES], self._marker)
        if not placed:
            needed = length_at(rest, behind, self._marker) or 0
            placed, read = placed_in(rest[behind : behind + needed], self._marker)
        return [(behind + place, entry) for place, entry in placed], behind + read

    def _cut_the_rest(self, is_last: bool) -> None:
        """Skip the rest of a finished segment: an incomplete record, or damage with nothing whole after it."""
        if self._file < 0:
            return
        rest = self._rest()
        if rest and is_last and self._is_unfinished(rest):
            place = f"{self.journal.name}, segment {self.number}"
            log.warning("%s: cut the last %d bytes, an incomplete record", place, len(rest))
        elif rest:
            self._note_damage(len(rest))
        self._place += len(rest)

    def _is_unfinished(self, rest: bytes) -> bool:
        """Whether this is what a worker killed in the middle of a write would leave."""
        if len(rest) < len(self._marker) + HEADER.size:
            return rest.startswith(self._marker[: len(rest)])
        needed = length_at(rest, 0, self._marker)
        return needed is not None and needed > len(rest)

    def _note_damage(self, length: int) -> None:
        self._damaged.add(self.number)
        place = f"{self.journal.name}, segment {self.number}"
        log.error("%s: %d bytes from byte %d on are damaged; what is whole is stored", place, length, self._place)

    def _rest(self) -> bytes:
        return os.pread(self._file, max(0, os.fstat(self._file).st_size - self._place), self._place)
