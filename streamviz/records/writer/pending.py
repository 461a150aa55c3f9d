"""Collect what was read from a journal, by stream, until there is enough of it to store."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple, Self
from uuid import UUID

import msgspec

from streamviz.records.recorder import AnyEntry, ChunksReceived, FramesSent, StreamClosed, StreamOpened, VerdictsGiven
from streamviz.records.verdict_record import VerdictRecord
from streamviz.records.writer.tapes import Chunks, Frames

# The worker of streams that no worker recorded: imported or made-up ones.
NO_WORKER = UUID(int=0)
# A stream's entries wait this long for more of them, so that a run holds some tens of chunks at a usual pace.
DUE_SECONDS = 5.0
# They wait no longer once there are this many chunks.
DUE_CHUNKS = 512


class Stored(NamedTuple):
    """What Postgres has of a stream: its session, to which linking may have moved it, how many chunks and frames, its
    wire format, when it was requested (µs since the epoch), and whether it is over."""

    session_id: UUID
    chunk_count: int
    frame_count: int
    wire_format: str
    requested_at: int
    is_over: bool


@dataclass(slots=True)
class Batch:
    """What is to be stored of one stream. `segment` is the oldest segment that holds any of it, `since` when its first
    entry was read; `entries` has all of it as it came. `stored` is what Postgres already has; None if nothing.
    `was_counted` says that limits counted the stream before it was deleted here."""

    stream_id: UUID
    worker: UUID
    segment: int = 0
    since: float = field(default_factory=time.monotonic)
    opened: StreamOpened | None = None
    chunks: list[Chunks] = field(default_factory=list)
    frames: list[Frames] = field(default_factory=list)
    verdicts: list[VerdictRecord] = field(default_factory=list)
    closed: StreamClosed | None = None
    chunk_count: int = 0
    entries: list[AnyEntry] = field(default_factory=list)
    stored: Stored | None = None
    was_counted: bool = False

    def add(self, entry: AnyEntry) -> None:
        """Take in the stream's next entry."""
        self.entries.append(entry)
        match entry:
            case ChunksReceived():
                chunks = Chunks.of(entry)
                self.chunk_count += len(chunks.lengths)
                if not (self.chunks and self.chunks[-1].extend(chunks)):
                    self.chunks.append(chunks)
            case FramesSent():
                frames = Frames.of(entry)
                if not (self.frames and self.frames[-1].extend(frames)):
                    self.frames.append(frames)
            case VerdictsGiven():
                self.verdicts += entry.verdicts
            case StreamOpened():
                self.opened = entry
            case StreamClosed():
                self.closed = entry

    def is_due(self, now: float) -> bool:
        """Whether the batch is to be stored without waiting for more. `now` is on the monotonic clock."""
        return self.closed is not None or self.chunk_count >= DUE_CHUNKS or now - self.since >= DUE_SECONDS

    def take_beginning(self) -> Self:
        """Split off the stream's beginning, which does not wait, so that a running stream can be found in the record,
        whichever worker it is on. The rest stays in this batch."""
        began, self.opened = self.opened, None
        entries, self.entries = self.entries, [each for each in self.entries if not isinstance(each, StreamOpened)]
        told: list[AnyEntry] = [each for each in entries if isinstance(each, StreamOpened)]
        return type(self)(self.stream_id, self.worker, self.segment, self.since, began, entries=told)

    def reached(self) -> tuple[int, int]:
        """The numbers after its last chunk and its last frame; 0 for a tape of which it has nothing."""
        chunks = self.chunks[-1].end if self.chunks else 0
        return chunks, self.frames[-1].end if self.frames else 0

    @property
    def has_advanced(self) -> bool:
        """Whether it has chunks or frames beyond the counts in its `closed` entry, if it has one."""
        told = (0, 0) if self.closed is None else (self.closed.chunk_count, self.closed.frame_count)
        return any(own > others for own, others in zip(self.reached(), told, strict=True))

    @property
    def began(self) -> StreamOpened | Stored | None:
        """What says how the stream began; None if neither this batch nor Postgres has it."""
        return self.opened or self.stored

    @property
    def is_new_and_over(self) -> bool:
        """Whether the batch has the whole stream."""
        return self.opened is not None and self.closed is not None and self.stored is None

    @property
    def is_now_over(self) -> bool:
        """Whether the batch has the end of a stream of which Postgres has none."""
        return self.closed is not None and not (self.stored and self.stored.is_over)

    def go_on_from(self, stored: Stored) -> None:
        """Drop the chunks and frames that are already stored."""
        self.stored = stored
        if self.opened is not None:
            self.opened = msgspec.structs.replace(self.opened, session_id=stored.session_id)
        self.chunks = [rest for rest in (piece.since(stored.chunk_count) for piece in self.chunks) if rest]
        self.frames = [rest for rest in (piece.since(stored.frame_count) for piece in self.frames) if rest]


class Pending:
    """The growing batches of one journal."""

    def __init__(self, worker: UUID) -> None:
        self._worker = worker
        self._batches: dict[UUID, Batch] = {}

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, entry: AnyEntry, segment: int) -> None:
        """Take in the next entry, which is in `segment`."""
        batch = self._batches.get(entry.stream_id)
        if batch is None:
            batch = self._batches[entry.stream_id] = Batch(entry.stream_id, self._worker, segment)
        batch.add(entry)

    def take_due(self, everything: bool) -> list[Batch]:
        """The batches that are to be stored now."""
        now = time.monotonic()
        due = [batch for batch in self._batches.values() if everything or batch.is_due(now)]
        for batch in due:
            del self._batches[batch.stream_id]
        for batch in [batch for batch in self._batches.values() if batch.opened]:
            due.append(batch.take_beginning())
            if not batch.entries:
                del self._batches[batch.stream_id]
        return due

    def oldest_segment(self, otherwise: int) -> int:
        """The oldest segment that holds an entry still waiting; `otherwise` if none is."""
        return min((batch.segment for batch in self._batches.values()), default=otherwise)
