"""What a call's upstream sends, in bounded pieces."""

import asyncio
from collections.abc import AsyncIterator, Generator
from itertools import pairwise

import pytest

from streamviz.proxy.reads import Reads
from streamviz.proxy.slots import Slots


async def sent(*sizes: int) -> AsyncIterator[bytes]:
    for number, size in enumerate(sizes):
        yield bytes([number]) * size


async def test_what_comes_fast_is_the_same_bytes_in_pieces() -> None:
    pieces = [piece async for piece in Reads(sent(100_000, 10, 0, 5_000), Slots(3))]
    assert b"".join(pieces) == bytes(100_000) + b"\1" * 10 + b"\3" * 5_000
    assert max(map(len, pieces)) == 16 * 1024


async def test_floods_share_a_few_slots_a_round_however_many_they_are() -> None:
    slots, done = Slots(3), [0] * 50

    async def flood(number: int) -> None:
        async for _ in Reads(sent(10 * 16 * 1024), slots):
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
    floods = [asyncio.ensure_future(anext(Reads(sent(10_000), slots))) for _ in range(20)]
    await asyncio.sleep(0)
    coroutine = anext(Reads(sent(200), slots)).__await__()
    with pytest.raises(StopIteration):
        next(coroutine)
    await asyncio.gather(*floods)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\r\n", b":\n\n"])
async def test_what_has_many_short_lines_comes_in_smaller_pieces_and_in_turns(end: bytes) -> None:
    async def flood() -> AsyncIterator[bytes]:
        yield end * 1_000

    pieces = [piece async for piece in Reads(flood(), Slots(1))]
    assert b"".join(pieces) == end * 1_000
    assert max(piece.count(b"\n") + piece.count(b"\r") for piece in pieces) <= 512
    slots = Slots(1)
    await slots.take()
    waits: Generator[object, None, bytes] = anext(Reads(flood(), slots)).__await__()
    assert isinstance(next(waits), asyncio.Future)
    waits.close()
