"""A worker's journal, shared by all who follow one of its streams: it is read once, however many followers there are.

Only the places where each stream's records begin are kept, eight bytes per record. A follower reads the records of its
own stream again at those places, and no others.
"""

import os
from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path
from threading import Lock
from uuid import UUID

from streamviz.records.journal import folder
from streamviz.records.journal.decoding import length_at, records_in
from streamviz.records.journal.encoding import HEADER
from streamviz.records.journal.tail import READ_BYTES, Tail
from streamviz.records.recorder import AnyEntry

# A place combines a segment's number with an offset in that segment; the offset takes this many bits.
_IN_SEGMENT = 40
# Read of one stream at a time.
_MOST_RECORDS = 10_000
_journals: dict[Path, "_Journal"] = {}
# Held only for moments, because followers start and stop in the event loop.
_opening = Lock()


class StreamTail:
    """One stream's entries in a journal, in order, each once, until it is closed. It begins with the oldest existing
    segment."""

    def __init__(self, journal: Path, stream_id: UUID) -> None:
        self.journal = journal
        self.stream_id = stream_id
        # Whether the last read left entries unread that were already there.
        self.is_behind = False
        # Whether entries may have been stored and removed before they were read here.
        self.has_gap = False
        self.read_until = 0
        with _opening:
            self._shared = _journals.setdefault(journal, _Journal(journal))
            self._shared.followers.add(self)

    def read(self) -> list[AnyEntry]:
        """Some new entries. Raises OSError if a segment was removed before it was opened, or the worker has ended."""
        return self._shared.read(self)

    def close(self) -> None:
        """Let go of the journal, even while another thread reads it."""
        with _opening:
            self._shared.followers.discard(self)
            is_last = not self._shared.followers
            if is_last and _journals.get(self.journal) is self._shared:
                del _journals[self.journal]
        if is_last:
            self._shared.close()


class _Journal:
    """One journal, and the places of its records by stream."""

    def __init__(self, journal: Path) -> None:
        self.followers: set[StreamTail] = set()
        self._tail = Tail(journal)
        self._places: dict[UUID, array[int]] = {}
        self._reading = Lock()

    def read(self, follower: StreamTail) -> list[AnyEntry]:
        """What is new for one follower, all from one segment."""
        try:
            with self._reading:
                return self._read(follower)
        finally:
            if not self.followers:
                self.close()

    def close(self) -> None:
        """Close the file once nobody follows. A read in progress closes it at its end, so nobody waits here."""
        if self._reading.acquire(blocking=False):
            self._tail.close()
            self._reading.release()

    def _read(self, follower: StreamTail) -> list[AnyEntry]:
        follower.is_behind = False
        if not self._places_for(follower):
            self._look_on()
        places = self._places_for(follower)
        entries: list[AnyEntry] = []
        if places:
            try:
                entries, follower.read_until = self._entries_at(places)
            except FileNotFoundError:
                follower.has_gap, follower.read_until = True, _end_of(places[0])
        follower.is_behind = self._tail.is_behind or follower.read_until < (places[-1] if places else 0)
        return entries

    def _places_for(self, follower: StreamTail) -> "array[int]":
        places = self._places.get(follower.stream_id, array("Q"))
        start = bisect_right(places, follower.read_until)
        return places[start : start + _MOST_RECORDS]

    def _look_on(self) -> None:
        """Note the places of the next records in the journal."""
        before = self._tail.number
        found = self._tail.read_placed(False)
        if self._tail.number != before:
            self._forget_stored(is_gap=self._tail.number > before + 1)
        start = self._tail.number << _IN_SEGMENT
        for place, entry in found:
            self._places.setdefault(entry.stream_id, array("Q")).append(start + place)

    def _forget_stored(self, *, is_gap: bool) -> None:
        """Forget places in removed segments. Their entries are stored: followers yet to read them must look there."""
        first = min(folder.segments(self._tail.journal), default=self._tail.number) << _IN_SEGMENT
        for follower in list(self.followers):
            unread = self._places_for(follower)
            follower.has_gap |= is_gap or (bool(unread) and unread[0] < first)
        for stream_id, places in list(self._places.items()):
            del places[: bisect_left(places, first)]
            if not places:
                del self._places[stream_id]

    def _entries_at(self, places: "array[int]") -> tuple[list[AnyEntry], int]:
        """The entries at the first of these places, at most a read's worth of one segment, and the last place read."""
        path = folder.segment(self._tail.journal, places[0] >> _IN_SEGMENT)
        marker, end = folder.marker(path), _end_of(places[0])
        entries: list[AnyEntry] = []
        length, last = 0, places[0]
        file = os.open(path, os.O_RDONLY)
        try:
            for last in places[: bisect_right(places, end)]:
                record = _record_at(file, last & ((1 << _IN_SEGMENT) - 1), marker)
                entries += records_in(record, marker)[0]
                length += len(record)
                if length >= READ_BYTES:
                    break
        finally:
            os.close(file)
        return entries, last


def _record_at(file: int, place: int, marker: bytes) -> bytes:
    head = os.pread(file, len(marker) + HEADER.size, place)
    return os.pread(file, length_at(head, 0, marker) or 0, place)


def _end_of(place: int) -> int:
    """The highest possible place in the same segment."""
    return place | ((1 << _IN_SEGMENT) - 1)
