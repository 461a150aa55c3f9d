"""Slots: the order in which simultaneous requests begin, and in how many rounds of the event loop."""

import asyncio
from contextlib import suppress
from itertools import pairwise

import pytest

from streamviz.proxy.slots import Slots


async def begin(slots: Slots, name: int, begun: list[int]) -> None:
    await slots.take()
    begun.append(name)


async def test_a_request_that_is_alone_does_not_wait() -> None:
    slots = Slots()
    begun: list[int] = []
    coroutine = begin(slots, 1, begun)
    with suppress(StopIteration):
        coroutine.send(None)
    assert begun == [1]


@pytest.mark.parametrize(("many", "a_round"), [(6, 1), (20, 3), (100, 19)])
async def test_a_part_of_many_begins_in_each_round_and_they_keep_their_order(many: int, a_round: int) -> None:
    slots = Slots()
    begun: list[int] = []
    tasks = [asyncio.ensure_future(begin(slots, name, begun)) for name in range(many)]
    sizes = [0]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        sizes.append(len(begun))
    assert begun == list(range(many))
    assert max(later - before for before, later in pairwise(sizes)) == a_round


async def test_who_has_left_keeps_nobody_waiting() -> None:
    slots = Slots()
    begun: list[int] = []
    tasks = [asyncio.ensure_future(begin(slots, name, begun)) for name in range(12)]
    await asyncio.sleep(0)
    tasks[9].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun == [name for name in range(12) if name != 9]
    await begin(slots, 12, begun)
    assert begun[-1] == 12
