"""The rows of other workers, as they arrive on a worker's wall."""

import asyncio
from typing import NamedTuple

import pytest

from streamviz.live import messages
from streamviz.live import pace as pace_module
from streamviz.live.exports import Exports
from streamviz.live.feed import Feed
from streamviz.live.pace import Pace
from streamviz.live.peer_rows import PeerRows
from streamviz.live.wall import Wall
from tests.live.support import START, Running

STREAMS = 20


class Taking(NamedTuple):
    rows: PeerRows
    wall: Wall
    task: "asyncio.Task[bool]"


@pytest.fixture
async def taking(monkeypatch: pytest.MonkeyPatch) -> Taking:
    """A worker's rows being added to the wall, one per turn of the event loop."""
    feed, wall = Feed(), Wall(Feed())
    for _ in range(STREAMS):
        Running(feed)
    message = messages.Rows("there", 1, True, await Exports(feed).all(START, Pace()))
    for name in ("_TURN_SECONDS", "_IMPATIENT_TURN_SECONDS"):
        monkeypatch.setattr(pace_module, name, 0)
    rows = PeerRows(wall)
    return Taking(rows, wall, asyncio.create_task(rows.take(message, Pace())))


async def test_rows_are_painted_in_turns_and_have_come_once_all_are_on_the_wall(taking: Taking) -> None:
    rows, wall, task = taking
    seen = set()
    while not task.done():
        assert not rows.have_come_from(["there"])
        assert not rows.came.is_set()
        seen.add(len(wall.entries))
        await asyncio.sleep(0)
    assert seen >= set(range(1, STREAMS))
    assert await task
    assert rows.have_come_from(["there"])
    assert rows.came.is_set()


async def test_rows_painted_while_silent_workers_are_looked_for_go_with_theirs_too(taking: Taking) -> None:
    rows, wall, task = taking
    await asyncio.sleep(0)
    assert not task.done()
    rows.forget(0)  # forgets no one: the worker was heard just now
    await task
    assert len(wall.entries) == STREAMS
    rows.forget(float("inf"))
    assert not wall.entries
