"""What policies cost in a long stream grows with it and no faster, counted in lines that are run."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from bench.linear_policies import FORMATS, POLICIES, STREAMS, chunks, take

# Pieces of a stream, and by how much more the last of them may cost than those in the middle: what is linear differs by
# less than a thousandth, and one line that each piece runs for each other makes a thirtieth, 800 of them. A few are run
# at odd times, by finalizers and caches.
SIZES, LIMIT, AT_ODD_TIMES = (20, 40, 60), 1.01, 50
KINDS = ("tool_rule, denies", "redact", "llm_judge", "own, holds all")


async def work_for(format: str, stream: str, kind: str, count: int) -> int:
    """How many lines are run, a loop's once a round, while a stream of so many pieces is taken in and judged."""
    made, policy, done = chunks(format, stream, count), POLICIES[kind](), 0

    def note(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal done
        done += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        await take(format, made, policy)
    finally:
        sys.settrace(before)
    return done


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
async def test_more_of_a_stream_costs_the_same_wherever_it_is(format: str, kind: str) -> None:
    for stream in STREAMS:
        await work_for(format, stream, kind, 10)  # what is done once for all streams
        first, second, third = [await work_for(format, stream, kind, count) for count in SIZES]
        assert third - second <= LIMIT * (second - first) + AT_ODD_TIMES, stream
