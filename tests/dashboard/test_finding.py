"""The page of a running stream has its current state, whichever worker runs it, and keeps no one else waiting."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import InMemoryChannelLayer

from streamviz.dashboard.finding import find_stream
from streamviz.live import pace, peer_channel
from streamviz.live.feed import Feed, feed
from streamviz.live.messages import Found
from streamviz.live.peer_answers import PeerAnswers
from streamviz.live.publisher import publisher
from tests.core.support import call, calls, delta
from tests.dashboard.conftest import recorded
from tests.live.support import Running
from tests.live.workers import Worker

BLOCKS = 20


class Sent:
    """The channel to another worker."""

    name = "here"

    def __init__(self) -> None:
        self.messages: list[Found] = []

    async def send(self, name: str, message: Found) -> None:
        self.messages.append(message)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up the event loop after each step."""
    for name in ("_TURN_SECONDS", "_IMPATIENT_TURN_SECONDS"):
        monkeypatch.setattr(pace, name, 0)


async def _running(feed: Feed) -> Running:
    return await Running(feed).take(*[calls(call(n, f"call-{n}", "ls", "{}")) for n in range(BLOCKS)])


async def _rounds_of(work: Coroutine[Any, Any, object]) -> int:
    """How many turns of the event loop others got in the meantime."""
    task, rounds = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.sleep(0)
        rounds += 1
    await task
    return rounds


@pytest.mark.usefixtures("hurried")
async def test_a_stream_of_many_blocks_is_looked_at_in_turns() -> None:
    running = await _running(feed)
    assert await _rounds_of(find_stream(running.id)) > BLOCKS
    assert len((await find_stream(running.id)).view.blocks) == BLOCKS
    feed.running.pop(running.id)


@pytest.mark.usefixtures("hurried")
async def test_a_stream_of_many_blocks_is_looked_at_in_turns_for_another_worker_too() -> None:
    own, sent = Feed(), Sent()
    running = await _running(own)
    assert await _rounds_of(PeerAnswers(own, sent).say_found("there", 1, running.id)) > BLOCKS
    [found] = sent.messages
    assert len(found.view.blocks) == BLOCKS


@pytest.mark.django_db(transaction=True)
async def test_a_stream_that_waits_at_another_worker_says_so_though_its_beginning_is_on_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer = InMemoryChannelLayer()
    here, there = Worker(layer), Worker(layer)
    for worker in (here, there):
        await worker.peers.start()
    monkeypatch.setattr(publisher, "peers", here.peers)
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 60.0)
    running = there.run(asks=True)
    await running.call("{}", "rm")
    await running.take(delta(finish="tool_calls"))
    await sync_to_async(recorded)(id=running.id, outcome="", ended_at=None)
    found = await find_stream(running.id)
    for worker in (here, there):
        await worker.peers.stop()
    assert [block.asks for block in found.view.blocks] == [1]
    assert found.is_watchable


@pytest.mark.django_db(transaction=True)
async def test_a_stream_is_not_lost_where_its_worker_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 0.05)
    alone = Worker(InMemoryChannelLayer())
    await alone.peers.start()
    monkeypatch.setattr(publisher, "peers", alone.peers)
    stream = await sync_to_async(recorded)(outcome="", ended_at=None)
    found = await find_stream(stream.id)
    await alone.peers.stop()
    assert (found.view.is_running, found.is_watchable) == (True, True)


@pytest.mark.usefixtures("hurried")
async def test_the_duration_counts_only_where_the_page_is_kept_current() -> None:
    running = await _running(feed)
    found = await find_stream(running.id)
    assert "data-since" in found.context("stream")["facts"]
    assert "data-since" not in found.context("chunks")["facts"]
    assert "data-since" not in replace(found, is_watchable=False).context("stream")["facts"]
    feed.running.pop(running.id)
