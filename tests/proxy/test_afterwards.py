"""The remaining work of finished calls: after incoming requests, but not long after."""

import asyncio
import socket
from functools import partial
from itertools import pairwise
from math import inf

import pytest

from streamviz.proxy import afterwards as module
from streamviz.proxy.afterwards import Afterwards
from streamviz.proxy.slots import Slots
from tests.clock import Clock


async def until(done: list[int], many: int) -> None:
    while len(done) < many:
        await asyncio.sleep(0)


async def test_it_is_done_by_itself_in_its_order() -> None:
    afterwards, done = Afterwards(Slots()), list[int]()
    for number in range(3):
        afterwards.add(partial(done.append, number))
    assert done == []
    await until(done, 3)
    afterwards.add(partial(done.append, 3))
    await until(done, 4)
    assert done == [0, 1, 2, 3]


async def test_it_waits_while_requests_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_SECONDS", 1_000)
    slots, done = Slots(), list[int]()
    clock = Clock()
    Afterwards(slots).add(partial(done.append, 1))
    slots.taken_at = inf  # as if requests came in all the time
    for _ in range(5):
        await clock.pass_on(module._PAUSE_SECONDS)
    assert done == []
    slots.taken_at = 0
    await until(done, 1)


async def test_it_waits_for_those_who_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_SECONDS", 1_000)
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0)
    slots, done = Slots(), list[int]()

    async def begin(number: int) -> None:
        await slots.take()
        done.append(number)

    begun = [asyncio.ensure_future(begin(number)) for number in range(6)]
    Afterwards(slots).add(partial(done.append, 6))
    await asyncio.gather(*begun)
    await until(done, 7)
    assert done == [0, 1, 2, 3, 4, 5, 6]


async def test_however_many_come_in_it_is_done() -> None:
    slots, done = Slots(), list[int]()
    Afterwards(slots).add(partial(done.append, 1))
    slots.taken_at = inf
    await until(done, 1)


async def test_the_time_of_the_last_request_is_known() -> None:
    slots = Slots()
    before = asyncio.get_running_loop().time()
    await slots.take()
    assert before <= slots.taken_at <= asyncio.get_running_loop().time()


async def test_what_comes_meanwhile_is_passed_on_first() -> None:
    loop, done = asyncio.get_running_loop(), list[str]()
    upstream, here = socket.socketpair()
    came = loop.create_future()
    loop.add_reader(here, came.set_result, None)

    async def stream() -> None:
        await came
        loop.remove_reader(here)
        done.append("chunk")

    def work() -> None:
        done.append("work")
        if len(done) == 1:
            upstream.send(b"data")

    running = asyncio.ensure_future(stream())
    with upstream, here:
        afterwards = Afterwards(Slots())
        for _ in range(3):
            afterwards.add(work)
        await running
        while len(done) < 4:
            await asyncio.sleep(0)
    assert done == ["work", "chunk", "work", "work"]


@pytest.mark.parametrize(("many", "at_once"), [(19, {1}), (35, {3, 2, 1}), (90, {8, 7, 6, 5, 4, 3, 2, 1})])
async def test_of_much_a_part_is_done_at_once_and_others_get_on_in_between(many: int, at_once: set[int]) -> None:
    afterwards, done = Afterwards(Slots()), list[int]()
    for number in range(many):
        afterwards.add(partial(done.append, number))
    sizes = [0]
    while len(done) < many:
        await asyncio.sleep(0)
        sizes.append(len(done))
    assert {later - before for before, later in pairwise(sizes)} - {0} == at_once


async def test_work_that_fails_keeps_no_other_from_being_done(caplog: pytest.LogCaptureFixture) -> None:
    afterwards, done = Afterwards(Slots()), list[int]()
    afterwards.add(lambda: done.append(1 // 0))
    afterwards.add(partial(done.append, 2))
    await until(done, 1)
    assert done == [2]
    assert "a stream's end could not be recorded" in caplog.text


async def test_as_the_server_stops_all_of_it_is_done() -> None:
    afterwards, done, clock, failed = Afterwards(Slots()), list[int](), Clock(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
    for number in range(20):
        afterwards.add(partial(done.append, number))
    afterwards.finish()
    assert done == list(range(20))
    await clock.pass_on(module._PAUSE_SECONDS)  # the callback that would have done it finds nothing to do
    assert (done, failed) == (list(range(20)), [])
