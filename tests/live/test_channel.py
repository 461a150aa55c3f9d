"""Channels: whoever joins is sent everything, at any time."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest

from streamviz.live import channel as channel_module
from streamviz.live.channel import Channel
from streamviz.live.feed import now_us
from streamviz.live.pace import Pace
from streamviz.live.subscriber import WINDOW, Subscriber
from streamviz.live.topics import Update

HOUR = 3_600_000_000


class Finished:
    """A topic that is over, whose snapshot is made only when the test says so."""

    is_over = True

    def __init__(self, html: str = "<p>all of it</p>") -> None:
        self._html = html
        self.is_asked = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def updates(self, changed: set[uuid.UUID], now: int, pace: Pace) -> AsyncIterator[Update]:
        for each in list[Update]():
            yield each

    async def snapshot(self, now: int, pace: Pace) -> str:
        self.is_asked.set()
        await self.may_go_on.wait()
        return self._html


def kinds(subscriber: Subscriber) -> list[str]:
    """What a browser would be sent, in short form."""
    messages = [subscriber.outbox.get_nowait() for _ in range(subscriber.outbox.qsize())]
    return [message.text.split()[1] if message.close is None else str(message.close) for message in messages]


async def test_who_comes_while_the_last_snapshot_is_made_has_one_too() -> None:
    topic, first, second = Finished(), Subscriber(), Subscriber()
    channel = Channel(topic)
    channel.subscribers.add(first)
    publishing = asyncio.create_task(channel.publish(set(), now_us(), Pace()))
    await topic.is_asked.wait()
    channel.subscribers.add(second)
    topic.may_go_on.set()
    await publishing
    await channel.publish(set(), now_us(), Pace())
    assert kinds(first) == ["snapshot", "end", "1000"]
    assert kinds(second) == ["snapshot", "end", "1000"]
    assert not channel.subscribers


async def test_who_takes_nothing_is_not_shown_everything_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "_SNAPSHOT_US", 0)
    topic, greedy = Finished("x" * WINDOW), Subscriber()
    topic.is_over = False
    topic.may_go_on.set()
    channel = Channel(topic)
    channel.subscribers.add(greedy)
    for _ in range(5):
        greedy.wants_snapshot = True
        await channel.publish(set(), now_us(), Pace())
    assert kinds(greedy) == ["snapshot"]
    await channel.publish(set(), now_us(), Pace())
    assert kinds(greedy) == ["snapshot"]


async def test_a_clock_that_is_set_back_keeps_nobody_waiting() -> None:
    topic, browser = Finished(), Subscriber()
    topic.is_over = False
    topic.may_go_on.set()
    channel, now = Channel(topic), now_us()
    channel.subscribers.add(browser)
    await channel.publish(set(), now, Pace())
    browser.wants_snapshot = True
    await channel.publish(set(), now + 1, Pace())
    assert kinds(browser) == ["snapshot"]  # it was sent one just now
    await channel.publish(set(), now - HOUR, Pace())
    assert kinds(browser) == ["alive", "snapshot"]
    await channel.publish(set(), now - HOUR + 1, Pace())
    assert kinds(browser) == []
