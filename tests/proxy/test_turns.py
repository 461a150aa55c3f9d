"""Turns: in what order those who come together begin, and in how many rounds of the event loop."""

import asyncio
from contextlib import suppress
from itertools import pairwise

from streamviz.proxy.turns import Turns


async def begin(turns: Turns, name: int, begun: list[int]) -> None:
    await turns.take()
    begun.append(name)


async def test_alone_nobody_waits() -> None:
    turns = Turns()
    begun: list[int] = []
    coroutine = begin(turns, 1, begun)
    with suppress(StopIteration):
        coroutine.send(None)
    assert begun == [1]


async def test_a_part_of_many_begins_in_each_round_and_they_keep_their_order() -> None:
    turns = Turns()
    begun: list[int] = []
    tasks = [asyncio.ensure_future(begin(turns, name, begun)) for name in range(20)]
    sizes = [0]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        sizes.append(len(begun))
    assert begun == list(range(20))
    assert max(later - before for before, later in pairwise(sizes)) == 5


async def test_whoever_has_left_keeps_nobody() -> None:
    turns = Turns()
    begun: list[int] = []
    tasks = [asyncio.ensure_future(begin(turns, name, begun)) for name in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun == [0, 2, 3]
    await begin(turns, 4, begun)
    assert begun[-1] == 4
