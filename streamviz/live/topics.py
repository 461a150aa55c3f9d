"""What sockets can watch, and how its changes become fragments: each topic remembers what browsers have."""

import uuid
from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from streamviz.live.feed import Feed
from streamviz.live.pace import Pace


class Update(NamedTuple):
    """Fragments for everyone who watches a topic. `is_text`: may be left out for a browser that cannot keep up."""

    html: str
    is_text: bool


class Topic(Protocol):
    """Something to watch. A topic is used only by its worker's ticks, never by two at once."""

    @property
    def is_over(self) -> bool:
        """Whether nothing can change any more."""

    def updates(self, changed: set[uuid.UUID], now: int, pace: Pace) -> AsyncIterator[Update]:
        """What browsers need to know now; `changed` are the streams that changed since the last time."""

    async def snapshot(self, now: int, pace: Pace) -> str:
        """All of it, as of the last updates."""


def count_asking(feed: Feed) -> int:
    """How many running streams wait for a person. May be called from any thread."""
    # `list` copies them in one step, so that nothing can be added while they are walked.
    return sum(
        any(hold.is_asking for hold in list(stream.context.holds.values())) for stream in list(feed.running.values())
    )


def newest_ask(feed: Feed) -> int:
    """When a person was last asked something that is still open (µs since the epoch); 0 if nothing is. May be called
    from any thread."""
    holds = (hold for stream in list(feed.running.values()) for hold in list(stream.context.holds.values()))
    return max((hold.asked_at for hold in holds if hold.is_asking), default=0)
