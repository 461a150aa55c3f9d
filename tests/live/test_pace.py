"""Long work on the event loop lets clients go first, and still gets done."""

import asyncio
from time import thread_time

from streamviz.live.pace import Pace


def work(seconds: float) -> None:
    """Keep the CPU busy."""
    until = thread_time() + seconds
    while thread_time() < until:
        pass


async def test_who_waits_is_served_before_the_work_goes_on() -> None:
    served: list[str] = []

    async def client() -> None:
        await asyncio.sleep(0)
        work(0.002)
        served.append("first")
        await asyncio.sleep(0)
        work(0.002)
        served.append("second")

    clients = asyncio.create_task(client())
    pace = Pace()
    work(0.004)
    await pace.rest()
    assert served == ["first", "second"]
    await clients


async def test_a_turn_that_is_not_over_is_not_interrupted() -> None:
    served: list[str] = []

    async def client() -> None:
        served.append("client")

    waiting = asyncio.create_task(client())
    await Pace().rest()
    assert served == []
    await waiting


async def test_the_work_goes_on_where_the_loop_is_never_calm() -> None:
    """The total of all rests is limited; after that each rest lasts only one round of the event loop."""
    rounds = 0

    async def client() -> None:
        nonlocal rounds
        while True:
            work(0.002)
            rounds += 1
            await asyncio.sleep(0)

    busy = asyncio.create_task(client())
    pace = Pace()
    counts = []
    for _ in range(5):
        work(0.006)
        rounds = 0
        await pace.rest()
        counts.append(rounds)
    assert counts[0] > 2
    assert counts[1:] == [1, 1, 1, 1]
    busy.cancel()


async def test_the_time_of_others_does_not_count_as_spent() -> None:
    async def client() -> None:
        await asyncio.sleep(0)
        work(0.05)

    waiting = asyncio.create_task(client())
    pace = Pace()
    work(0.002)
    await pace.give_way()
    assert 0.002 <= pace.spent < 0.05
    await waiting
