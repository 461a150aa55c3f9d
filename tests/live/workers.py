"""Workers that hear each other, and their browsers."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from channels.layers import InMemoryChannelLayer

from streamviz.core.policy_settings import ByHand
from streamviz.core.verdicts import Decision
from streamviz.live.feed import Feed, now_us
from streamviz.live.link import Link
from streamviz.live.peers import Peers
from streamviz.live.publisher import Publisher
from streamviz.live.subscriber import Message, Subscriber
from streamviz.live.wall import Wall
from streamviz.live.wall_topic import WallTopic
from tests.core.support import active, deny_names
from tests.live.support import Page, Running

# Far longer than anything here takes: what takes this long will not happen.
PATIENCE = 60


class Worker:
    """A worker and its browsers."""

    def __init__(self, layer: InMemoryChannelLayer | Link, *, are_workers: bool = True) -> None:
        self.feed = Feed()
        self.publisher = Publisher(self.feed, Wall(self.feed))
        self.peers = Peers(self.publisher, layer, are_workers=are_workers)

    def run(self, label: str = "nightly-triage", *, asks: bool = False, **changes: Any) -> Running:
        """A stream whose policy denies `rm`, or asks a person about it."""
        guard = active(deny_names("rm"))
        guard = replace(guard, by_hand=ByHand(600, Decision.DENY)) if asks else guard
        return Running(self.feed, [guard], now=now_us(), session_label=label, **changes)

    async def watch_wall(self) -> "Browser":
        browser = Browser()

        async def topic() -> WallTopic:
            await self.publisher.catch_up()
            return WallTopic(self.publisher.wall)

        await self.publisher.join("wall ", topic, browser.subscriber)
        return browser


class Browser:
    """A page fed by a subscriber, as through its socket."""

    def __init__(self) -> None:
        self.subscriber = Subscriber()
        self.page = Page()
        self.closed: int | None = None

    async def until(self, is_so: Callable[[Page], bool]) -> None:
        """Take messages until the page satisfies `is_so`."""
        async with asyncio.timeout(PATIENCE):
            while not (self.page.expected is not None and is_so(self.page)):
                await self.take()

    async def take(self) -> None:
        message: Message = await self.subscriber.outbox.get()
        if message.close is not None:
            self.closed = message.close
        else:
            self.page.receive(message.text)
            self.subscriber.confirm(message.number)


def labels(page: Page, group: str) -> list[str]:
    element = page.root.find(f"group-{group}")
    assert element is not None
    return [each.text for each in element.walk() if each.attributes.get("class") == "row-link"]
