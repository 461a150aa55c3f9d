"""Workers on a real Redis: those of one installation hear each other, but not another installation's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from django.utils.module_loading import import_string

from streamviz.core.verdicts import Decision
from streamviz.environment import redis_layer
from streamviz.live import peer_channel
from streamviz.live import peers as peers_module
from tests.core.support import delta
from tests.live.workers import PATIENCE, Worker

OURS, THEIRS = "of one installation " * 2, "of another one " * 3
Join = Callable[[str, str], Awaitable[Worker]]


def layer(url: str, secret: str) -> Any:
    """The channel layer, as Django creates it from the settings."""
    made = redis_layer(url, secret)
    return import_string(str(made["BACKEND"]))(**made["CONFIG"])


@pytest.fixture
async def join(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Join]:
    """Creates a worker that joins those with the same secret on this Redis."""
    monkeypatch.setattr(peers_module, "ROWS_SECONDS", 60.0)
    joined: list[tuple[Worker, Any]] = []

    async def add(url: str, secret: str) -> Worker:
        own = layer(url, secret)
        joined.append((worker := Worker(own), own))
        await worker.peers.start()
        return worker

    yield add
    for worker, own in joined:
        await worker.peers.stop()
        await own.flush()


async def heard(worker: Worker, others: int) -> None:
    """Wait until the worker has heard of this many others."""
    async with asyncio.timeout(PATIENCE):
        while len(worker.peers.counts.names) < others:
            await asyncio.sleep(0.02)


async def test_another_installations_streams_are_neither_shown_nor_decided(
    redis_url: str, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = await join(redis_url, OURS), await join(redis_url, OURS)
    other_database = redis_url.removesuffix("/0") + "/5"  # Redis' publish/subscribe ignores database numbers
    stranger = await join(other_database, THEIRS)
    running = there.run(asks=True)
    await running.call("{}", "rm")
    await running.take(delta(finish="tool_calls"))
    running.stream.decide = lambda *told: True
    await heard(here, 1)
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 60.0)
    assert await here.peers.decide(running.id, 1, Decision.ALLOW, "alice")
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 0.2)
    assert await stranger.peers.look_for(running.id) is None
    assert await stranger.peers.decide(running.id, 1, Decision.ALLOW, "mallory") is None
    assert (here.peers.counts.names, stranger.peers.counts.names) == ([there.peers.name], [])


async def test_who_begins_to_watch_waits_for_the_rows_of_the_others(redis_url: str, join: Join) -> None:
    here, there = await join(redis_url, OURS), await join(redis_url, OURS)
    await heard(here, 1)
    running = there.run()
    await here.publisher.catch_up()
    assert list(here.publisher.wall.entries) == [running.id]
