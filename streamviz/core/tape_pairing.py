"""Pairing what is on the two tapes between two chunks that passed: which frames stand for which chunks."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from streamviz.core.events import StreamFinished, UsageUpdated
from streamviz.core.tapes import Fate, Row, Tapes
from streamviz.core.timeline import NOBODY, Timeline

_MOST_STRETCHES = 400  # pairing more takes too long


class _Stretch(NamedTuple):
    """Neighbouring chunks, or frames, that say the same kind of thing."""

    said: str
    owner: int
    numbers: range


def between(tapes: Tapes, seqs: range, frames: range) -> Iterator[Row]:
    """What is between two chunks that passed: chunks that did not, and frames that are not chunks."""
    if any(seq in tapes.lost for seq in seqs) and frames:
        yield Row(Fate.REPLACED, seqs, frames, tapes.upstream.owner(seqs[0]), _origin(tapes, frames))
        return
    left = list(_stretches(tapes.upstream, seqs, [""] * len(seqs)))
    right = list(_stretches(tapes.client, frames, [tapes.frames[number].origin for number in frames]))
    at = to = 0
    for n, m in [*_pairs(left, right), (len(left), len(right))]:
        for stretch in left[at:n]:
            yield Row(Fate.DROPPED, stretch.numbers, range(0), stretch.owner)
        for stretch in right[to:m]:
            yield Row(Fate.INJECTED, range(0), stretch.numbers, origin=_origin(tapes, stretch.numbers))
        if n < len(left):
            made = right[m].numbers
            yield Row(Fate.REPLACED, left[n].numbers, made, left[n].owner, _origin(tapes, made))
        at, to = n + 1, m + 1


def _pairs(left: Sequence[_Stretch], right: Sequence[_Stretch]) -> list[tuple[int, int]]:
    """The stretches that stand for each other, in order."""
    if max(len(left), len(right)) > _MOST_STRETCHES:
        return []
    said = [stretch.said for stretch in left], [stretch.said for stretch in right]
    found = SequenceMatcher(None, *said, autojunk=False).get_matching_blocks()
    return [(a + n, b + n) for a, b, size in found for n in range(size)]


def _stretches(timeline: Timeline, numbers: range, origins: Sequence[str]) -> Iterator[_Stretch]:
    """Neighbours that are of one block, or say the same kind of thing about the answer, and have the same origin."""
    said = [(_said(timeline, number), timeline.owner(number)) for number in numbers]
    edges = [n for n in range(1, len(said)) if (said[n], origins[n]) != (said[n - 1], origins[n - 1])]
    if said:
        for start, stop in pairwise([0, *edges, len(said)]):
            yield _Stretch(*said[start], numbers[start:stop])


def _said(timeline: Timeline, seq: int) -> str:
    """What a chunk says, in a word: a block's kind, or what it says about the answer."""
    owner = timeline.owner(seq)
    if owner != NOBODY:
        return str(timeline.begun(owner).kind)
    told = timeline.told(seq)
    if any(isinstance(event, StreamFinished) for event in told):
        return "finish"
    return "usage" if any(isinstance(event, UsageUpdated) for event in told) else "other"


def _origin(tapes: Tapes, frames: range) -> str:
    return next((tapes.frames[number].origin for number in frames if tapes.frames[number].origin), "")
