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

# Large enough that opening a file is nothing beside filling it, small enough that what is stored goes soon.
SEGMENT_BYTES = 8 * 1024 * 1024
# A segment is ended after this time too: its last byte then says how old the oldest is that still waits.
SEGMENT_SECONDS = 60.0
INCOMPLETE = "the journal was full: not all of this stream is recorded"


class Journal:
    """Appends to files under `root`, in a folder that is locked for as long as the process lives.

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
        # Running streams whose beginning is in the journal, and those of which it, or the end, is among what was
        # gathered. A stream may begin twice: the second time tells what its request became.
        self._begun: set[UUID] = set()
        self._beginning: set[UUID] = set()
        self._ending: set[UUID] = set()
        # Streams that there was no room for, with whether their beginning is in the journal.
        self._left_out: dict[UUID, bool] = {}
        self._owed: list[StreamClosed] = []
        # Why the last write failed, as on a disk that broke: no limit is reached there.
        self._failure = ""
        self._next_segment()

    def why_refused(self) -> str:
        """Why no new stream may begin, as a clause; empty where one may."""
        return self._failure or self._why_full() if self._room.limits.refuses else ""

    @property
    def left_out(self) -> int:
        """How many running streams are not recorded, or not to their end."""
        return len(self._left_out)

    def append(self, entry: AnyEntry) -> None:
        """Take an entry in. A stream that there is no room for goes on all the same: it is left out from here on."""
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
        """Whether a stream may not go on, as what came of it last could not be written."""
        return bool(self._left_out) and self._room.limits.refuses and stream_id in self._left_out

    def flush(self) -> None:
        """Write what was gathered, and what is owed; its streams are left out where that cannot be done."""
        if self._gathered:
            self._write_gathered()
        if self._owed:
            self._write_owed()

    def close(self) -> None:
        """Let the folder go. Whoever reads it next knows that nothing more comes."""
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
        """Where nothing could be written, find out whether something can be by now; and write what is owed."""
        if self._failure:
            with suppress(OSError):
                self._try_to_write()
                self._failure = ""
        self.flush()

    def _try_to_write(self) -> None:
        """Into the next segment, of which nothing is left. Raises OSError."""
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
            # The writer can remove what it has stored, all but the newest segment: there may be no other.
            with suppress(OSError):
                self._next_segment()
        return why

    def _write(self, records: bytearray) -> None:
        """Write all of it or nothing. Raises OSError where there is no room."""
        if (self._size and self._size + len(records) > SEGMENT_BYTES) or time.monotonic() > self._ends_at:
            # Where there can be no other, the present one goes on.
            with suppress(OSError):
                self._next_segment()
        written = os.write(self._segment, records)
        if written < len(records):
            # What comes behind half a record is in a new segment, if that can be and the half cannot be taken back.
            self._ends_at = 0.0
            os.ftruncate(self._segment, self._size)
            self._ends_at = time.monotonic() + SEGMENT_SECONDS
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += written
        self._failure = ""

    def _next_segment(self) -> None:
        """Raises OSError where there can be none."""
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
            do = "end, as they cannot be recorded" if self._room.limits.refuses else "go on unrecorded"
            log.error("streams %s: %s", do, why)
        # What cannot be written is left out as a whole: a stream whose beginning is among it is not in the journal.
        self._left_out.setdefault(entry.stream_id, entry.stream_id in self._begun)
        self._end_left_out(entry)

    def _end_left_out(self, entry: AnyEntry) -> None:
        """Write a stream's end once there is room, if its beginning was, or pages would show it as running forever."""
        if not isinstance(entry, StreamClosed):
            return
        self._begun.discard(entry.stream_id)
        if self._left_out.pop(entry.stream_id):
            error = f"{INCOMPLETE}; {entry.error}" if entry.error else INCOMPLETE
            self._owed.append(msgspec.structs.replace(entry, error=error))

    def _write_owed(self) -> None:
        """Each by itself, as there may be room for some."""
        while self._owed:
            record = bytearray()
            append_record(self._owed[0], record, self._marker)
            try:
                self._write(record)
            except OSError:
                return
            del self._owed[0]
