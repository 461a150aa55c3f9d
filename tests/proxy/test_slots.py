"""Slots: the order in which simultaneous requests begin, and in how many rounds of the event loop."""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import suppress
from itertools import pairwise

import pytest

from streamviz.proxy.slots import InPieces, Slots


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


async def reads(*sizes: int) -> AsyncIterator[bytes]:
    for number, size in enumerate(sizes):
        yield bytes([number]) * size


async def test_what_comes_fast_is_the_same_bytes_in_pieces() -> None:
    pieces = [piece async for piece in InPieces(reads(100_000, 10, 0, 5_000), Slots(3))]
    assert b"".join(pieces) == bytes(100_000) + b"\1" * 10 + b"\3" * 5_000
    assert max(map(len, pieces)) == 16 * 1024


async def test_floods_share_a_few_slots_a_round_however_many_they_are() -> None:
    slots, done = Slots(3), [0] * 50

    async def flood(number: int) -> None:
        async for _ in InPieces(reads(10 * 16 * 1024), slots):
            done[number] += 1

    tasks = [asyncio.ensure_future(flood(number)) for number in range(50)]
    sizes = [0]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        sizes.append(sum(done))
    assert max(later - before for before, later in pairwise(sizes)) <= 3
    assert done == [10] * 50


async def test_what_comes_slowly_waits_for_no_slot() -> None:
    slots = Slots(1)
    floods = [asyncio.ensure_future(anext(InPieces(reads(10_000), slots))) for _ in range(20)]
    await asyncio.sleep(0)
    coroutine = anext(InPieces(reads(200), slots)).__await__()
    with pytest.raises(StopIteration):
        next(coroutine)
    await asyncio.gather(*floods)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\r\n", b":\n\n"])
async def test_what_has_many_short_lines_comes_in_smaller_pieces_and_in_turns(end: bytes) -> None:
    async def flood() -> AsyncIterator[bytes]:
        yield end * 1_000

    pieces = [piece async for piece in InPieces(flood(), Slots(1))]
    assert b"".join(pieces) == end * 1_000
    assert max(piece.count(b"\n") + piece.count(b"\r") for piece in pieces) <= 512
    slots = Slots(1)
    await slots.take()
    waits: Generator[object, None, bytes] = anext(InPieces(flood(), slots)).__await__()
    assert isinstance(next(waits), asyncio.Future)
    waits.close()
