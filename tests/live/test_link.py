"""Both ends of a link, as in two processes."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
from channels.exceptions import ChannelFull

from streamviz.live.link import Link

GROUP = "all"


@pytest.fixture
async def ends() -> AsyncIterator[tuple[Link, Link]]:
    server, screens = socket.socketpair()
    links = Link(server, "server"), Link(screens, "screens")
    for link in links:
        await link.open()
    yield links
    for link in links:
        link.close()


async def test_what_one_end_of_a_link_sends_the_other_gets(ends: tuple[Link, Link]) -> None:
    here, there = ends
    name = await there.new_channel("streamviz.worker")
    assert name != await here.new_channel("streamviz.worker")
    sent = [b"x", b"y" * 3_000_000, b"z"]
    for data in sent:
        await here.send(name, {"type": "streamviz.message", "data": data})
    await there.group_send(GROUP, {"type": "streamviz.message", "data": b"back"})
    assert [(await there.receive(name))["data"] for _ in sent] == sent
    assert (await here.receive("streamviz.worker.server"))["data"] == b"back"


async def test_an_end_of_a_link_says_when_it_is_ready(ends: tuple[Link, Link]) -> None:
    here, there = ends
    await there.send("any", {"data": b"before"})
    assert await here.receive("any") == {"data": b"before"}
    assert not here.is_ready
    there.say_ready()
    await there.send("any", {"data": b"after"})
    assert await here.receive("any") == {"data": b"after"}
    assert here.is_ready


async def test_nothing_is_sent_to_one_that_is_gone(ends: tuple[Link, Link]) -> None:
    here, there = ends
    there.close()
    async with asyncio.timeout(60):
        with pytest.raises(OSError, match=r"gone|[Pp]ipe|reset"):
            while True:
                await here.send("any", {"data": b"x"})
                await asyncio.sleep(0)


async def test_the_end_of_one_is_seen_by_the_other(ends: tuple[Link, Link]) -> None:
    here, there = ends
    await here.group_send(GROUP, {"data": b"last"})
    here.close()
    async with asyncio.timeout(60):
        await there.lost.wait()
    assert (await there.receive("any"))["data"] == b"last"


async def test_an_end_that_takes_nothing_costs_a_bounded_amount_of_memory() -> None:
    server, screens = socket.socketpair()
    link = Link(server, "server")
    await link.open()
    part, taken = b"x" * 1_000_000, 0
    with pytest.raises(ChannelFull):
        for _ in range(100):
            await link.group_send(GROUP, {"data": part})
            taken += 1
    assert 0 < taken < 30
    link.close()
    screens.close()
