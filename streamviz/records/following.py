"""Follow a stream's record as it grows: from Postgres, and what is not there yet from this machine's journals."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from uuid import UUID

from streamviz.records.entries import UNKNOWN_POLICY, Given
from streamviz.records.journal import folder
from streamviz.records.journal.shared import StreamTail
from streamviz.records.models import PolicyVersion, Stream, Verdict
from streamviz.records.moments import as_datetime
from streamviz.records.queries import streams
from streamviz.records.recorder import AnyEntry, ChunksReceived, FramesSent, StreamClosed, StreamOpened, VerdictsGiven
from streamviz.records.runs import StoredChunk
from streamviz.records.tables import VERDICT
from streamviz.records.tapes import client_runs, upstream_runs
from streamviz.records.verdict_record import VerdictRecord

# How many runs are read at a time: some ms of work, and a bound on the memory of each reader.
_RUNS_AT_ONCE = 16
_verdict = VERDICT.reader()


@dataclass
class News:
    """What is new of a stream, in order within each kind. `closed` is set once there is nothing more. `request` is set
    if the journal has the request, which policies may settle after the stream began. `is_all` says that nothing more is
    known to be there."""

    request: bytes = b""
    chunks: list[StoredChunk] = field(default_factory=list)
    verdicts: list[Given] = field(default_factory=list)
    closed: StreamClosed | None = None
    is_all: bool = True

    def __bool__(self) -> bool:
        return bool(self.chunks or self.verdicts or self.closed)


class Following:
    """Reads one stream from its first chunk on; `read` gives what is new since the last call, without waiting.

    While the stream runs, what is not stored yet comes from its worker's journal, if that worker is on this machine; on
    another machine, it appears once it is stored, some seconds later. With `as_sent`, a chunk is given once the client
    got it unchanged, or without its bytes if the client did not. Not for the event loop: it reads files and Postgres.
    """

    def __init__(self, stream: Stream, root: Path, *, as_sent: bool = False) -> None:
        self._id: UUID = stream.pk
        self._seq = self._verdict = self._frame = 0
        self._unsent = Unsent() if as_sent else None
        self._tail = None if stream.outcome else _tail_of(stream, root)
        self._waiting: list[AnyEntry] = []
        self._is_stored = True
        self._versions: dict[int, tuple[str, int]] = {}

    @property
    def is_live(self) -> bool:
        """Whether it reads the worker's journal, and so has what is recorded at once."""
        return self._tail is not None

    def close(self) -> None:
        """Let go of the journal."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def read(self, *, looks_again: bool = False) -> News:
        """What is new. Asks Postgres when more is known to be there, when there is no journal, and when the caller
        `looks_again`. Raises Stream.DoesNotExist if the stream was deleted."""
        if self._is_stored or self._tail is None or looks_again:
            news = self._read_stored()
            self._is_stored = not news.is_all
            if news:
                return news
        return self._read_journal()

    def _read_stored(self) -> News:
        # Check first whether the stream is over: if it is, what is read afterwards is all of it.
        outcome = Stream.objects.values_list("outcome", flat=True).get(pk=self._id)
        # The next chunk may be in the middle of a run.
        runs = list(islice(upstream_runs(self._id, self._seq), _RUNS_AT_ONCE))
        news = News(is_all=len(runs) < _RUNS_AT_ONCE)
        news.chunks = [chunk for run in runs for chunk in run.chunks() if chunk.seq >= self._seq]
        until = as_datetime(news.chunks[-1].received_at) if news.chunks and not news.is_all else None
        news.verdicts = self._stored_verdicts(until)
        if outcome and news.is_all:
            news.closed = streams.entries_of(streams.load(self._id), has_times=False).closed
        self._note(news)
        return self._as_sent(news, self._stored_frames())

    def _stored_frames(self) -> set[int]:
        """The seqs of chunks newly seen on the client tape, sent unchanged."""
        passed: set[int] = set()
        if self._unsent is None:
            return passed
        for run in client_runs(self._id, self._frame):
            self._frame = run.first_frame + len(run.offsets)
            passed |= set() if run.first_seq is None else set(range(run.first_seq, run.first_seq + len(run.offsets)))
        return passed

    def _as_sent(self, news: News, passed: set[int]) -> News:
        if self._unsent is not None:
            news.chunks = self._unsent.settle(news.chunks, passed, is_over=news.closed is not None)
        return news

    def _stored_verdicts(self, until: datetime | None) -> list[Given]:
        later = Verdict.objects.filter(stream=self._id, number__gte=self._verdict).order_by("number")
        if until is not None:
            later = later.filter(at__lte=until)
        return self._given([VerdictRecord(**_verdict(each)) for each in later])

    def _read_journal(self) -> News:
        waiting, self._waiting = self._waiting, []
        entries = waiting or self._new_entries()  # which may put them into `_waiting`
        news = News(is_all=not self._waiting and (self._tail is None or not self._tail.is_behind))
        passed: set[int] = set()
        for entry in entries:
            self._take(entry, news)
            if isinstance(entry, FramesSent) and entry.first >= self._frame:
                self._frame = entry.first + len(entry.seqs)
                passed |= {seq for seq in entry.seqs if seq is not None}
        return self._as_sent(news, passed)

    def _new_entries(self) -> list[AnyEntry]:
        """New entries of the journal. After a gap they wait until what was missed has been read from Postgres."""
        if self._tail is None:
            return []
        try:
            entries = self._tail.read()
        except OSError:  # a segment was removed, or the worker ended: all of it is stored
            self._is_stored = True
            if not (self._tail.journal / folder.LOCK).is_file():
                self.close()
            return []
        if not self._tail.has_gap:
            return entries
        self._waiting, self._is_stored, self._tail.has_gap = entries, True, False
        return []

    def _take(self, entry: AnyEntry, news: News) -> None:
        match entry:
            case StreamOpened():
                news.request = entry.request
            case ChunksReceived():
                news.chunks += (chunk for chunk in _chunks(entry) if chunk.seq >= self._seq)
            case VerdictsGiven():
                news.verdicts += self._given([each for each in entry.verdicts if each.number >= self._verdict])
            case StreamClosed():
                news.closed = entry
            case FramesSent():
                return
        self._note(news)

    def _given(self, verdicts: Sequence[VerdictRecord]) -> list[Given]:
        unknown = {each.policy_version_id for each in verdicts} - self._versions.keys()
        if unknown:
            found = PolicyVersion.objects.filter(pk__in=unknown).values_list("pk", "policy__name", "number")
            self._versions |= {pk: (name, number) for pk, name, number in found}
        return [Given(each, *self._versions.get(each.policy_version_id, UNKNOWN_POLICY)) for each in verdicts]

    def _note(self, news: News) -> None:
        if news.chunks:
            self._seq = news.chunks[-1].seq + 1
        if news.verdicts:
            self._verdict = news.verdicts[-1].verdict.number + 1


class Unsent:
    """Chunks of which it is not known yet whether the client got them unchanged."""

    def __init__(self) -> None:
        self._chunks: deque[StoredChunk] = deque()
        self._passed: set[int] = set()
        self._last = -1

    def settle(self, chunks: Iterable[StoredChunk], passed: set[int], *, is_over: bool) -> list[StoredChunk]:
        """The chunks whose fate is now known: if a later one was sent, or nothing more will be, a chunk that was not
        sent never will."""
        self._chunks.extend(chunks)
        self._passed |= passed
        self._last = max(self._last, *passed) if passed else self._last
        settled: list[StoredChunk] = []
        while self._chunks and (is_over or self._chunks[0].seq <= self._last):
            chunk = self._chunks.popleft()
            settled.append(chunk if chunk.seq in self._passed else chunk._replace(raw=None))
            self._passed.discard(chunk.seq)
        return settled


def _tail_of(stream: Stream, root: Path) -> StreamTail | None:
    """The stream in its worker's journal, if that is on this machine."""
    journal = root / str(stream.worker)
    is_here = stream.worker is not None and (journal / folder.LOCK).is_file()
    return StreamTail(journal, stream.pk) if is_here else None


def _chunks(entry: ChunksReceived) -> Iterable[StoredChunk]:
    sizes = entry.sizes or [len(raw) for raw in entry.raws]
    raws: Sequence[bytes | None] = entry.raws or [None] * len(sizes)
    for n, (size, raw) in enumerate(zip(sizes, raws, strict=True)):
        yield StoredChunk(entry.first + n, entry.received_at, size, raw)
