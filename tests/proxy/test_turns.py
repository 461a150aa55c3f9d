"""Turns: the order in which simultaneous requests begin, and in how many rounds of the event loop."""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import suppress
from itertools import pairwise

import pytest

from streamviz.proxy.turns import InTurns, Turns


async def begin(turns: Turns, name: int, begun: list[int]) -> None:
    await turns.take()
    begun.append(name)


async def test_a_request_that_is_alone_does_not_wait() -> None:
    turns = Turns()
    begun: list[int] = []
    coroutine = begin(turns, 1, begun)
    with suppress(StopIteration):
        coroutine.send(None)
    assert begun == [1]


@pytest.mark.parametrize(("many", "a_round"), [(6, 2), (20, 4), (100, 24)])
async def test_a_part_of_many_begins_in_each_round_and_they_keep_their_order(many: int, a_round: int) -> None:
    turns = Turns()
    begun: list[int] = []
    tasks = [asyncio.ensure_future(begin(turns, name, begun)) for name in range(many)]
    sizes = [0]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        sizes.append(len(begun))
    assert begun == list(range(many))
    assert max(later - before for before, later in pairwise(sizes)) == a_round


async def test_who_has_left_keeps_nobody_waiting() -> None:
    turns = Turns()
    begun: list[int] = []
    tasks = [asyncio.ensure_future(begin(turns, name, begun)) for name in range(12)]
    await asyncio.sleep(0)
    tasks[9].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun == [name for name in range(12) if name != 9]
    await begin(turns, 12, begun)
    assert begun[-1] == 12


async def reads(*sizes: int) -> AsyncIterator[bytes]:
    for number, size in enumerate(sizes):
        yield bytes([number]) * size


async def test_what_comes_fast_is_the_same_bytes_in_pieces() -> None:
    pieces = [piece async for piece in InTurns(reads(100_000, 10, 0, 5_000), Turns(3))]
    assert b"".join(pieces) == bytes(100_000) + b"\1" * 10 + b"\3" * 5_000
    assert max(map(len, pieces)) == 16 * 1024


async def test_floods_share_a_few_turns_a_round_however_many_they_are() -> None:
    turns, done = Turns(3), [0] * 50

    async def flood(number: int) -> None:
        async for _ in InTurns(reads(10 * 16 * 1024), turns):
            done[number] += 1

    tasks = [asyncio.ensure_future(flood(number)) for number in range(50)]
    sizes = [0]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        sizes.append(sum(done))
    assert max(later - before for before, later in pairwise(sizes)) <= 3
    assert done == [10] * 50


async def test_what_comes_slowly_waits_for_no_turn() -> None:
    turns = Turns(1)
    floods = [asyncio.ensure_future(anext(InTurns(reads(10_000), turns))) for _ in range(20)]
    await asyncio.sleep(0)
    coroutine = anext(InTurns(reads(200), turns)).__await__()
    with pytest.raises(StopIteration):
        next(coroutine)
    await asyncio.gather(*floods)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\r\n", b":\n\n"])
async def test_what_has_many_short_lines_comes_in_smaller_pieces_and_in_turns(end: bytes) -> None:
    async def flood() -> AsyncIterator[bytes]:
        yield end * 1_000

    pieces = [piece async for piece in InTurns(flood(), Turns(1))]
    assert b"".join(pieces) == end * 1_000
    assert max(piece.count(b"\n") + piece.count(b"\r") for piece in pieces) <= 512
    turns = Turns(1)
    await turns.take()
    waits: Generator[object, None, bytes] = anext(InTurns(flood(), turns)).__await__()
    assert isinstance(next(waits), asyncio.Future)
    waits.close()
