"""What policies cost in a long stream grows with it and no faster, counted in lines that are run."""

import gc
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

import pytest

from bench import linear
from bench.linear_policies import FORMATS, POLICIES, STREAMS, chunks, take

# Pieces of a stream, and by how much more the last of them may cost than those in the middle: what is linear differs by
# less than a thousandth, and one line that each piece runs for each other makes a thirtieth, 800 of them. A few are run
# at odd times, by finalizers and caches.
SIZES, LIMIT, AT_ODD_TIMES = (20, 40, 60), 1.01, 50
KINDS = ("tool_rule, denies", "redact", "llm_judge", "own, holds all")


async def work_of(taking: Awaitable[object]) -> int:
    """How many lines are run, a loop's once a round, while a stream is taken in."""
    done = 0

    def note(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal done
        done += 1
        return note

    before = sys.gettrace()
    gc.disable()  # or lines of what other tests left behind are counted, whenever it goes
    sys.settrace(note)
    try:
        await taking
    finally:
        sys.settrace(before)
        gc.enable()
    return done


async def is_linear(taking: Callable[[int], Awaitable[object]]) -> bool:
    """Whether the last pieces of a stream cost what those in the middle do; `taking` takes in so many."""
    await work_of(taking(10))  # what is done once for all streams
    first, second, third = [await work_of(taking(count)) for count in SIZES]
    return third - second <= LIMIT * (second - first) + AT_ODD_TIMES


def judged(format: str, stream: str, kind: str) -> Callable[[int], Awaitable[object]]:
    """A stream that goes through a policy."""
    return lambda count: take(format, chunks(format, stream, count), POLICIES[kind]())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
async def test_more_of_a_stream_costs_the_same_wherever_it_is(format: str, kind: str) -> None:
    for stream in STREAMS:
        assert await is_linear(judged(format, stream, kind)), stream


@pytest.mark.parametrize(("format", "delta"), [("openai_chat", "many choices"), ("gemini", "many candidates")])
async def test_ever_new_choices_cost_the_same(format: str, delta: str) -> None:
    make = linear.DELTAS[format][delta]
    assert await is_linear(lambda count: linear.take(format, linear.stream(make, count)))
