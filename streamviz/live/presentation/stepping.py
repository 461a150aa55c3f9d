"""Steps from one moment of a stream to another: the next chunk, or one at which something happened."""

from collections.abc import Iterator
from enum import StrEnum

from streamviz.core.tapes import Tapes
from streamviz.live.presentation.views import StreamView


class Step(StrEnum):
    """Where to go from a chunk: to the next one, or to one at which a block or a policy did something."""

    FIRST = "first"
    PREVIOUS = "previous"
    NEXT = "next"
    EARLIER = "earlier"
    LATER = "later"


def stepped(whole: StreamView, tapes: Tapes, seq: int, step: Step) -> int | None:
    """The chunk that a step leads to; None is the end of the stream."""
    last = len(tapes.upstream) - 1
    match step:
        case Step.FIRST:
            return 0
        case Step.PREVIOUS:
            return max(0, seq - 1)
        case Step.NEXT:
            return seq + 1 if seq < last else None
        case Step.EARLIER:
            return max((turn for turn in _turns(whole, tapes) if turn < seq), default=0)
        case Step.LATER:
            return min((turn for turn in _turns(whole, tapes) if seq < turn <= last), default=None)


def _turns(whole: StreamView, tapes: Tapes) -> Iterator[int]:
    """The chunks at which something had just changed, in no order; some numbers are beyond the last chunk."""
    yield from tapes.upstream.turns()
    times = [verdict.at for verdict in whole.verdicts]
    times += [at for block in whole.blocks for at in (block.held_at, block.hold_ended_at) if at is not None]
    for at in times:
        # The first chunk at that time or later.
        before = tapes.upstream.last_by(at - 1)
        yield 0 if before is None else before + 1
