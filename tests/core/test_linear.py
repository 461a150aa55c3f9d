"""The cost of policies grows linearly with the length of a stream, measured in executed lines."""

import gc
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

import pytest

from bench import linear
from bench.linear_policies import FORMATS, POLICIES, STREAMS, chunks, take

# Pieces of a stream, and how much more the last of them may cost than the middle ones. A linear cost varies by less
# than a thousandth, while one line that each piece executes for every other adds some 3 % (500 lines). A few lines are
# executed at random times, by finalizers and caches.
SIZES, LIMIT, AT_ODD_TIMES = (16, 32, 48), 1.01, 50
KINDS = ("tool_rule, denies", "redact", "llm_judge", "own, holds all")


async def work_of(taking: Awaitable[object]) -> int:
    """How many lines are executed while a stream is taken in; those of a loop count once per iteration."""
    done = 0

    def note(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal done
        done += 1
        return note

    before = sys.gettrace()
    gc.disable()  # otherwise lines executed by other tests' garbage would be counted
    sys.settrace(note)
    try:
        await taking
    finally:
        sys.settrace(before)
        gc.enable()
    return done


async def is_linear(taking: Callable[[int], Awaitable[object]]) -> bool:
    """Whether a stream's last pieces cost the same as the middle ones; `taking` takes in so many pieces."""
    await work_of(taking(10))  # work that is done once for all streams
    first, second, third = [await work_of(taking(count)) for count in SIZES]
    return third - second <= LIMIT * (second - first) + AT_ODD_TIMES


def judged(format: str, stream: str, kind: str) -> Callable[[int], Awaitable[object]]:
    """Feeds a stream to a policy."""
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
