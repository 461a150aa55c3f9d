"""Fixtures: workers that hear each other."""

import socket
from collections.abc import AsyncIterator, Callable

import pytest
from channels.layers import InMemoryChannelLayer

from streamviz.live import peer_channel
from streamviz.live import peers as peers_module
from streamviz.live.link import Link
from tests.live.workers import Worker


@pytest.fixture
async def workers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Worker, Worker]]:
    """Two workers that hear each other and send reminders often, with time limits long enough for a busy machine."""
    monkeypatch.setattr(peers_module, "REMIND_SECONDS", 0.2)
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 60.0)
    for name in ("FORGET_SECONDS", "ROWS_SECONDS"):
        monkeypatch.setattr(peers_module, name, 60.0)
    layer = InMemoryChannelLayer()
    here, there = Worker(layer), Worker(layer)
    for worker in (here, there):
        await worker.peers.start()
    yield here, there
    for worker in (here, there):
        await worker.peers.stop()


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Once called, workers that have fallen silent are soon forgotten."""
    return lambda: monkeypatch.setattr(peers_module, "FORGET_SECONDS", 1.0)


@pytest.fixture
def impatient(workers: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers give up on missing answers soon."""
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 0.5)


@pytest.fixture
async def linked(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Worker, Worker]]:
    """A worker, and the process that has its browsers' websockets."""
    monkeypatch.setattr(peer_channel, "ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(peers_module, "ROWS_SECONDS", 60.0)
    ends = socket.socketpair()
    links = [Link(end, name) for end, name in zip(ends, ("server", "screens"), strict=True)]
    server, screens = Worker(links[0], are_workers=False), Worker(links[1])
    for link in links:
        await link.open()
    for worker in (server, screens):
        await worker.peers.start()
    yield server, screens
    for worker in (server, screens):
        await worker.peers.stop()
    for link in links:
        link.close()
