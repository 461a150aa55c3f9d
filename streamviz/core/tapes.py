"""The two tapes side by side: what became of each chunk on its way to the client, and what came beside them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from streamviz.core.events import StreamFinished, UsageUpdated
from streamviz.core.timeline import NOBODY, Timeline

# So many chunks at most are one run: a page that shows it unfolded stays small.
MOST_IN_A_RUN = 500
# Between two chunks that passed: to pair more of what was replaced takes too long.
_MOST_SEGMENTS = 400
# A chunk waits for the last of the holds that began before it. It may have been decided sooner than those before it.
_HOLDS_AT_ONCE = 8


class Fate(StrEnum):
    """What became of chunks, or of the frames that no chunk is."""

    PASSED = "passed"
    DELAYED = "delayed"
    REPLACED = "replaced"
    DROPPED = "dropped"
    INJECTED = "injected"


class Sent(NamedTuple):
    """A frame: upstream's chunk `seq`, or, where that is None, bytes that `origin` made. `at` is µs since the epoch."""

    at: int
    seq: int | None
    origin: str = ""


class Held(NamedTuple):
    """A block was kept back from its chunk `seq` on, between two times (µs since the epoch), by policies."""

    ordinal: int
    seq: int
    began: int
    ended: int
    by: tuple[str, ...]


class Row(NamedTuple):
    """Chunks `seqs` of upstream's and frames `frames` of the client's that belong together; either may be none.

    `owner` is the block of upstream's, NOBODY where it is the answer as a whole. `origin` made the frames; `held` says
    what these chunks waited for. `waited` is the longest that one of them took (µs), None where they did not pass.
    """

    fate: Fate
    seqs: range
    frames: range
    owner: int = NOBODY
    origin: str = ""
    held: Held | None = None
    waited: int | None = None

    @property
    def is_run(self) -> bool:
        return len(self.seqs) > 1 and self.waited is not None


class Tapes(NamedTuple):
    """All that is known of both. `holds` are in the order in which they began."""

    upstream: Timeline
    client: Timeline
    frames: Sequence[Sent]
    holds: Sequence[Held] = ()
    lost: frozenset[int] = frozenset()
    """The chunks whose bytes are kept nowhere."""


def align(tapes: Tapes) -> list[Row]:
    """The rows of both tapes in their order. What passed at once, or waited for the same, is one row."""
    rows: list[Row] = []
    seq = frame = 0
    for number, sent in enumerate(tapes.frames):
        if sent.seq is None:
            continue
        if seq < sent.seq or frame < number:
            rows += _between(tapes, range(seq, sent.seq), range(frame, number))
        _extend(rows, _passed(tapes, sent.seq, number, sent))
        seq, frame = sent.seq + 1, number + 1
    rows += _between(tapes, range(seq, len(tapes.upstream)), range(frame, len(tapes.frames)))
    return rows


def _extend(rows: list[Row], row: Row) -> None:
    """Another chunk passed: with those before it, where it belongs to them."""
    last = rows[-1] if rows else None
    if (
        last is None
        or last.waited is None
        or row.waited is None
        or (last.fate, last.owner, last.held) != (row.fate, row.owner, row.held)
        or (last.seqs.stop, last.frames.stop) != (row.seqs.start, row.frames.start)
        or len(last.seqs) >= MOST_IN_A_RUN
    ):
        rows.append(row)
        return
    seqs, frames = range(last.seqs.start, row.seqs.stop), range(last.frames.start, row.frames.stop)
    rows[-1] = last._replace(seqs=seqs, frames=frames, waited=max(last.waited, row.waited))


def _passed(tapes: Tapes, seq: int, number: int, sent: Sent) -> Row:
    received = tapes.upstream.at(seq)
    held = _held(tapes.holds, seq, received, sent.at)
    is_late = held is not None or _was_overtaken(tapes.upstream, seq, sent.at)
    return Row(
        Fate.DELAYED if is_late else Fate.PASSED,
        range(seq, seq + 1),
        range(number, number + 1),
        tapes.upstream.owner(seq),
        held=held,
        waited=sent.at - received,
    )


def _held(holds: Sequence[Held], seq: int, received: int, sent_at: int) -> Held | None:
    """The last hold that a chunk waited for; None where it waited for none."""
    begun = bisect_right(holds, seq, key=lambda hold: hold.seq)
    latest = reversed(holds[max(0, begun - _HOLDS_AT_ONCE) : begun])
    return next((hold for hold in latest if received <= hold.ended <= sent_at), None)


def _was_overtaken(upstream: Timeline, seq: int, sent_at: int) -> bool:
    """Whether a later chunk had come before this one was sent: what need not wait is sent as soon as it is read."""
    last = upstream.last_by(sent_at)
    return last is not None and last > seq and upstream.at(last) > upstream.at(seq)


class _Segment(NamedTuple):
    """Neighbours that say the same kind of thing."""

    said: str
    owner: int
    numbers: range


def _between(tapes: Tapes, seqs: range, frames: range) -> Iterator[Row]:
    """What stands between two chunks that passed: chunks that did not, and frames that no chunk is."""
    if any(seq in tapes.lost for seq in seqs) and frames:
        yield Row(Fate.REPLACED, seqs, frames, tapes.upstream.owner(seqs[0]), _origin(tapes, frames))
        return
    left = list(_segments(tapes.upstream, seqs, [""] * len(seqs)))
    right = list(_segments(tapes.client, frames, [tapes.frames[number].origin for number in frames]))
    at = to = 0
    for n, m in [*_pairs(left, right), (len(left), len(right))]:
        for segment in left[at:n]:
            yield Row(Fate.DROPPED, segment.numbers, range(0), segment.owner)
        for segment in right[to:m]:
            yield Row(Fate.INJECTED, range(0), segment.numbers, origin=_origin(tapes, segment.numbers))
        if n < len(left):
            made = right[m].numbers
            yield Row(Fate.REPLACED, left[n].numbers, made, left[n].owner, _origin(tapes, made))
        at, to = n + 1, m + 1


def _pairs(left: Sequence[_Segment], right: Sequence[_Segment]) -> list[tuple[int, int]]:
    """Which segments stand for which, in order."""
    if max(len(left), len(right)) > _MOST_SEGMENTS:
        return []
    said = [segment.said for segment in left], [segment.said for segment in right]
    found = SequenceMatcher(None, *said, autojunk=False).get_matching_blocks()
    return [(a + n, b + n) for a, b, size in found for n in range(size)]


def _segments(timeline: Timeline, numbers: range, origins: Sequence[str]) -> Iterator[_Segment]:
    """Neighbours of one block, or that say the same of the answer, made by the same."""
    said = [(_said(timeline, number), timeline.owner(number)) for number in numbers]
    edges = [n for n in range(1, len(said)) if (said[n], origins[n]) != (said[n - 1], origins[n - 1])]
    if said:
        for start, stop in pairwise([0, *edges, len(said)]):
            yield _Segment(*said[start], numbers[start:stop])


def _said(timeline: Timeline, seq: int) -> str:
    """What a chunk says, in a word: a block's kind, or what it tells of the answer."""
    owner = timeline.owner(seq)
    if owner != NOBODY:
        return str(timeline.begun(owner).kind)
    told = timeline.told(seq)
    if any(isinstance(event, StreamFinished) for event in told):
        return "finish"
    return "usage" if any(isinstance(event, UsageUpdated) for event in told) else "other"


def _origin(tapes: Tapes, frames: range) -> str:
    return next((tapes.frames[number].origin for number in frames if tapes.frames[number].origin), "")
