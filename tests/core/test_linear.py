"""What policies cost in a long stream: twice the stream makes twice the work, counted in calls of functions."""

import sys
from types import FrameType
from typing import Any

import pytest

from bench.linear_policies import FORMATS, POLICIES, STREAMS, chunks, take

# Long enough that what grows with the square would show: three times the calls, and more.
SHORT, LONG, LIMIT = 40, 80, 2.4
KINDS = ("tool_rule, denies", "redact", "llm_judge", "own, holds all")


async def calls_for(format: str, stream: str, kind: str, count: int) -> int:
    """How many functions are called while a stream of so many pieces is taken in and judged."""
    made, policy, called = chunks(format, stream, count), POLICIES[kind](), 0

    def count_call(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        await take(format, made, policy)
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
async def test_twice_the_stream_makes_twice_the_work(format: str, kind: str) -> None:
    for stream in STREAMS:
        await calls_for(format, stream, kind, 10)  # what is done once for all streams
        short, long = [await calls_for(format, stream, kind, count) for count in (SHORT, LONG)]
        assert long < LIMIT * short, stream
