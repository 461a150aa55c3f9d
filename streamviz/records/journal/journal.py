"""The journal of one worker: a Recorder whose entries outlive the process."""

import errno
import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import msgspec

from streamviz.records.journal import folder
from streamviz.records.journal.encoding import append_record
from streamviz.records.journal.room import Limits, Room
from streamviz.records.recorder import AnyEntry, StreamClosed, StreamOpened

log = logging.getLogger(__name__)

# Large enough that the cost of opening a file is negligible, small enough that what is stored is soon removed.
SEGMENT_BYTES = 8 * 1024 * 1024
# A segment also ends after this time, so that its modification time tells how long the oldest entry has waited.
SEGMENT_SECONDS = 60.0
_GONE = "its folder was removed; streamviz has to be restarted"
INCOMPLETE = "the journal was full: not all of this stream is recorded"


class Journal:
    """Appends entries to files under `root`, in a folder that is locked for as long as the process lives.

    Entries are gathered in memory until `flush`, which writes them all at once.
    """

    def __init__(self, root: Path, limits: Limits) -> None:
        folder.make_private(root)
        self.path, self._lock = folder.create(root)
        self._marker = folder.marker(folder.segment(self.path, 1))
        self._room = Room(root, limits)
        self._gathered: list[AnyEntry] = []
        self._records = bytearray()
        self._number = 0
        self._segment = -1
        self._ahead = -1
        self._size = 0
        self._ends_at = 0.0
        # Running streams whose beginning is in the journal; then those whose beginning, or end, is among the gathered
        # entries. A stream may begin twice: the second time with what became of its request.
        self._begun: set[UUID] = set()
        self._beginning: set[UUID] = set()
        self._ending: set[UUID] = set()
        # Streams that there was no room for, and whether their beginning is in the journal.
        self._left_out: dict[UUID, bool] = {}
        self._owed: list[StreamClosed] = []
        # Why the last write failed, for example on a broken disk, where no limit is reached.
        self._failure = ""
        # Somebody removed its folder: what is written now is in no file that a writer could find.
        self._is_gone = False
        self._next_segment()

    def why_refused(self) -> str:
        """Why no new stream may begin, as a clause; empty if one may."""
        return self._failure or self._why_full() if self._room.limits.refuses else ""

    @property
    def left_out(self) -> int:
        """How many running streams are not recorded, or not to their end."""
        return len(self._left_out)

    def append(self, entry: AnyEntry) -> None:
        """Take in an entry. A stream that there is no room for continues, but is not recorded from here on."""
        if self._left_out and entry.stream_id in self._left_out:
            self._end_left_out(entry)
        elif isinstance(entry, StreamOpened) and self._is_first(entry) and (why := self._why_unrecorded()):
            self._leave_out(entry, why)
        else:
            append_record(entry, self._records, self._marker)
            self._gathered.append(entry)
            self._note(entry)

    def _is_first(self, entry: StreamOpened) -> bool:
        return entry.stream_id not in self._begun and entry.stream_id not in self._beginning

    def _note(self, entry: AnyEntry) -> None:
        if isinstance(entry, StreamOpened):
            if self._is_first(entry):
                self._beginning.add(entry.stream_id)
        elif isinstance(entry, StreamClosed):
            self._ending.add(entry.stream_id)

    def has_lost(self, stream_id: UUID) -> bool:
        """Whether a stream must end because its latest entries could not be written."""
        return bool(self._left_out) and self._room.limits.refuses and stream_id in self._left_out

    def flush(self) -> None:
        """Write the gathered entries and those owed. If that fails, the streams of the gathered ones are left out."""
        if self._gathered:
            self._write_gathered()
        if self._owed:
            self._write_owed()

    def close(self) -> None:
        """Write what is left and release the lock. Whoever reads the folder next knows that nothing more comes."""
        self.flush()
        (self.path / folder.AHEAD).unlink(missing_ok=True)
        for descriptor in (self._segment, self._ahead, self._lock):
            if descriptor >= 0:
                os.close(descriptor)

    def _write_gathered(self) -> None:
        entries, self._gathered = self._gathered, []
        try:
            self._write(self._records)
        except OSError as error:
            why = error.strerror or str(error)
            self._failure = f"the journal cannot be written to ({why})"
            for entry in entries:
                self._leave_out(entry, why)
        else:
            self._begun |= self._beginning
        self._begun -= self._ending
        self._beginning.clear()
        self._ending.clear()
        self._records.clear()

    def try_again(self) -> None:
        """After a failed write, find out whether writing works again; then write what is owed."""
        if not self._is_gone and not (self.path / folder.LOCK).exists():
            self._is_gone, self._failure = True, f"the journal cannot be written to ({_GONE})"
        if self._failure:
            with suppress(OSError):
                self._try_to_write()
                self._failure = ""
        self.flush()

    def leave_old(self) -> None:
        """Begin the next segment if the present one is old, even if no entry comes for it: the writer keeps the newest
        segment, and so what is in it, after everything in it is stored, or deleted."""
        if self._size and time.monotonic() > self._ends_at:
            with suppress(OSError):
                self._next_segment()

    def _try_to_write(self) -> None:
        """Write one byte to the file for the next segment, and take it back. Raises OSError."""
        ahead = self._open_ahead()
        try:
            os.write(ahead, b" ")
            os.ftruncate(ahead, 0)
        finally:
            os.close(ahead)

    def _why_unrecorded(self) -> str:
        return "" if self._room.limits.refuses else self._why_full()

    def _why_full(self) -> str:
        why = self._room.why_full()
        if why and self._size:
            # The writer removes every segment that it has stored except the newest, and this may be the only one.
            with suppress(OSError):
                self._next_segment()
        return why

    def _write(self, records: bytearray) -> None:
        """Write all of it or nothing. Raises OSError if there is no room."""
        if self._is_gone:
            raise OSError(errno.ENOENT, _GONE)
        if (self._size and self._size + len(records) > SEGMENT_BYTES) or time.monotonic() > self._ends_at:
            # If no new segment can be created, the present one goes on.
            with suppress(OSError):
                self._next_segment()
        written = os.write(self._segment, records)
        if written < len(records):
            # If the half record cannot be cut off, the next write begins a new segment, if that can be created.
            self._ends_at = 0.0
            os.ftruncate(self._segment, self._size)
            self._ends_at = time.monotonic() + SEGMENT_SECONDS
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += written
        self._failure = ""

    def _next_segment(self) -> None:
        """Switch to the next segment. Raises OSError if it cannot be created."""
        opened = self._open_ahead() if self._ahead < 0 else self._ahead
        self._ahead = opened
        (self.path / folder.AHEAD).rename(folder.segment(self.path, self._number + 1))
        if self._segment >= 0:
            os.close(self._segment)
        self._segment, self._ahead = opened, -1
        self._number += 1
        self._size = 0
        self._ends_at = time.monotonic() + SEGMENT_SECONDS
        with suppress(OSError):
            self._ahead = self._open_ahead()

    def _open_ahead(self) -> int:
        return os.open(self.path / folder.AHEAD, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def _leave_out(self, entry: AnyEntry, why: str) -> None:
        if not self._left_out:
            do = "end, as they cannot be recorded" if self._room.limits.refuses else "continue unrecorded"
            log.error("streams %s: %s", do, why)
        # The failed write is lost as a whole: a stream whose beginning was in it is not in the journal.
        self._left_out.setdefault(entry.stream_id, entry.stream_id in self._begun)
        self._end_left_out(entry)

    def _end_left_out(self, entry: AnyEntry) -> None:
        """Owe the stream's end until there is room, if its beginning was written, or it would look running forever."""
        if not isinstance(entry, StreamClosed):
            return
        self._begun.discard(entry.stream_id)
        if self._left_out.pop(entry.stream_id):
            error = f"{INCOMPLETE}; {entry.error}" if entry.error else INCOMPLETE
            self._owed.append(msgspec.structs.replace(entry, error=error))

    def _write_owed(self) -> None:
        """Write the owed entries one by one, because there may be room for only some."""
        while self._owed:
            record = bytearray()
            append_record(self._owed[0], record, self._marker)
            try:
                self._write(record)
            except OSError:
                return
            del self._owed[0]
