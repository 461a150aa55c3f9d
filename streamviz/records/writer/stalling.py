"""Note how long streams stalled, and what they waited for, once they are stored."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from streamviz.core.timing import Wait, stalls
from streamviz.records.models import Stall
from streamviz.records.recorder import StreamClosed

INSERT = """
INSERT INTO records_stall (stream_id, cause, times, lasted_us, at)
SELECT id, %s, %s, %s, requested_at FROM records_stream WHERE id = %s ON CONFLICT DO NOTHING
"""


class StallRow(NamedTuple):
    """The parameters of INSERT."""

    cause: str
    times: int
    lasted_us: int
    stream_id: UUID


def stall_rows(closed: StreamClosed, requested_at: int, received: Sequence[int]) -> list[StallRow]:
    """One row for each cause. `received` has the times at which chunks arrived (µs since the epoch)."""
    found: dict[str, list[Wait]] = defaultdict(list)
    waits = list(_waits(closed))
    known = {wait.cause for wait in waits}
    for wait in stalls([requested_at, *received], waits):
        found[wait.cause if wait.cause in known else Stall.Cause.UPSTREAM].append(wait)
    return [
        StallRow(str(cause), len(each), sum(wait.duration for wait in each), closed.stream_id)
        for cause, each in found.items()
    ]


def _waits(closed: StreamClosed) -> Iterator[Wait]:
    """What is known to have kept the stream waiting."""
    yield from _holds(closed)
    for began, ended in closed.client_waits or ():
        yield Wait(began, closed.ended_at if ended is None else ended, Stall.Cause.CLIENT)


def _holds(closed: StreamClosed) -> Iterator[Wait]:
    """The stream's holds; those that overlap count as one wait."""
    held = [
        (block.held_at, block.released_at or block.completed_at or closed.ended_at)
        for block in closed.blocks
        if block.held_at is not None
    ]
    ended = 0
    began: int | None = None
    for start, end in sorted(held):
        if began is not None and start > ended:
            yield Wait(began, ended, Stall.Cause.HELD)
            began = None
        began = start if began is None else began
        ended = max(ended, start, end)
    if began is not None:
        yield Wait(began, ended, Stall.Cause.HELD)
