"""Reading a journal while its worker appends to it."""

import logging
import os
from pathlib import Path

from streamviz.records.journal import folder
from streamviz.records.journal.encoding import length_at, records_in
from streamviz.records.recorder import AnyEntry

log = logging.getLogger(__name__)

READ_BYTES = 1024 * 1024


class Tail:
    """Gives the entries of one journal in order, each once. It begins with the oldest segment that is there."""

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self.number = 0
        # Whether the last read left something that had been there before it.
        self.is_behind = False
        self._file = -1
        self._place = 0

    def read(self, is_abandoned: bool) -> list[AnyEntry]:
        """Some of what is new, all of one segment (`number`); empty where there is nothing more just now.

        What a worker left half written when it ended is cut. `is_abandoned` says that it has ended.
        """
        while True:
            # Looked for before the present segment is read: nothing is appended to that once there is a next one.
            following = self._following()
            if entries := self._read_segment():
                self.is_behind |= following is not None
                return entries
            self.is_behind = False
            if following is None and not is_abandoned:
                return []
            self._cut_the_rest()
            if following is None:
                return []
            self._open(following)

    def remove_before(self, number: int) -> None:
        """Remove the segments before this one: all that they hold is stored."""
        for older in folder.segments(self.journal):
            if older < number:
                folder.segment(self.journal, older).unlink()

    def close(self) -> None:
        """Let go of the open segment."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _following(self) -> int | None:
        return next((number for number in folder.segments(self.journal) if number > self.number), None)

    def _open(self, number: int) -> None:
        self.close()
        self._file = os.open(folder.segment(self.journal, number), os.O_RDONLY)
        self.number, self._place = number, 0

    def _read_segment(self) -> list[AnyEntry]:
        if self._file < 0:
            return []
        data = os.pread(self._file, READ_BYTES, self._place)
        needed = length_at(data, 0)
        if needed is not None and len(data) == READ_BYTES < needed:
            # No more than there is: a damaged header may ask for gigabytes.
            data = os.pread(self._file, min(needed, os.fstat(self._file).st_size - self._place), self._place)
        entries, read = records_in(data)
        self._place += read
        self.is_behind = len(data) >= READ_BYTES
        return entries

    def _cut_the_rest(self) -> None:
        """Nothing more comes here: what is left is a record that was not finished, or damage and what lies behind."""
        if self._file < 0:
            return
        cut = os.fstat(self._file).st_size - self._place
        if cut:
            place = f"{self.journal.name}, segment {self.number}"
            log.warning("%s: the last %d bytes are no whole records and are cut", place, cut)
            self._place += cut
