"""Gather consecutive chunks and frames of one stream, and cut them into runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import itemgetter
from typing import Self

from streamviz.records.recorder import ChunksReceived, FramesSent
from streamviz.records.runs import RUN, StoredChunk

# The longest span of one run (35 minutes): its times are kept as 32-bit offsets in µs from the first.
RUN_MICROSECONDS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class UpstreamRun:
    """Chunks from `first` on, received at `times`. `raws` is None if only their lengths are kept."""

    first: int
    times: list[int]
    lengths: list[int]
    raws: list[bytes] | None


@dataclass(frozen=True, slots=True)
class ClientRun:
    """Frames from `first` on, sent at `times`: upstream's chunks from `seq` on or, if that is None, `made`."""

    first: int
    times: list[int]
    seq: int | None
    origin: str
    made: list[bytes]


@dataclass(slots=True)
class Chunks:
    """Consecutive chunks of the upstream tape; `raws` is empty if only their lengths are kept."""

    first: int
    times: list[int]
    lengths: list[int]
    raws: list[bytes]

    @classmethod
    def of(cls, entry: ChunksReceived) -> Self:
        lengths = list(entry.sizes) or [len(raw) for raw in entry.raws]
        return cls(entry.first, [entry.received_at] * len(lengths), lengths, list(entry.raws))

    @property
    def end(self) -> int:
        """The number of the next chunk."""
        return self.first + len(self.lengths)

    def extend(self, other: Self) -> bool:
        """Append what continues directly from here; False for anything else."""
        if other.first != self.end or bool(other.raws) != bool(self.raws):
            return False
        self.times += other.times
        self.lengths += other.lengths
        self.raws += other.raws
        return True

    def since(self, seq: int) -> Self | None:
        """The part from `seq` on; None if there is none."""
        skipped = max(0, seq - self.first)
        if skipped >= len(self.lengths):
            return None
        if not skipped:
            return self
        first = self.first + skipped
        return type(self)(first, self.times[skipped:], self.lengths[skipped:], self.raws[skipped:])

    def stored(self) -> Iterator[StoredChunk]:
        """Each chunk, as it would be read back from the runs."""
        raws = self.raws or repeat(None)
        for n, (at, length, raw) in enumerate(zip(self.times, self.lengths, raws, strict=False)):
            yield StoredChunk(self.first + n, at, length, raw)

    def runs(self) -> Iterator[UpstreamRun]:
        for start, end in _cuts(self.times):
            raws = self.raws[start:end] or None
            yield UpstreamRun(self.first + start, self.times[start:end], self.lengths[start:end], raws)


@dataclass(slots=True)
class Frames:
    """Consecutive frames of the client tape: `seqs` as in FramesSent, `made` aligned with them."""

    first: int
    times: list[int]
    seqs: list[int | None]
    made: list[tuple[str, bytes] | None]

    @classmethod
    def of(cls, entry: FramesSent) -> Self:
        return cls(entry.first, [entry.sent_at] * len(entry.seqs), list(entry.seqs), _in_step(entry))

    @property
    def end(self) -> int:
        """The number of the next frame."""
        return self.first + len(self.seqs)

    def extend(self, other: Self) -> bool:
        """Append what continues directly from here; False for anything else."""
        if other.first != self.end:
            return False
        self.times += other.times
        self.seqs += other.seqs
        self.made += other.made
        return True

    def since(self, number: int) -> Self | None:
        """The part from this number on; None if there is none."""
        skipped = max(0, number - self.first)
        if skipped >= len(self.seqs):
            return None
        if not skipped:
            return self
        return type(self)(self.first + skipped, self.times[skipped:], self.seqs[skipped:], self.made[skipped:])

    def runs(self) -> Iterator[ClientRun]:
        for start, end in _cuts(self.times):
            for first, last in self._alike(start, end):
                made = self.made[first]
                yield ClientRun(
                    self.first + first,
                    self.times[first:last],
                    self.seqs[first],
                    made[0] if made else "",
                    [each[1] for each in self.made[first:last] if each],
                )

    def _alike(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Ranges of consecutive chunks of upstream, and of frames made by one policy."""
        seq = self.seqs[start]
        if seq is not None and self.seqs[start:end] == list(range(seq, seq + end - start)):
            yield start, end
            return
        for _, stretch in groupby(((self._likeness(n), n) for n in range(start, end)), itemgetter(0)):
            numbers = [n for _, n in stretch]
            yield numbers[0], numbers[-1] + 1

    def _likeness(self, n: int) -> tuple[str, int]:
        seq, made = self.seqs[n], self.made[n]
        return ("", seq - n) if seq is not None else (made[0] if made else "", 0)


def _in_step(entry: FramesSent) -> list[tuple[str, bytes] | None]:
    if not entry.made:
        return [None] * len(entry.seqs)
    made = iter(entry.made)
    return [next(made) if seq is None else None for seq in entry.seqs]


def _cuts(times: list[int]) -> Iterator[tuple[int, int]]:
    """Where runs begin and end: as few runs as possible, of about equal size."""
    size = -(-len(times) // -(-len(times) // RUN)) if times else 0
    start = 0
    while start < len(times):
        end = min(start + size, len(times))
        while times[end - 1] - times[start] > RUN_MICROSECONDS:
            end -= 1
        yield start, end
        start = end
