"""Who watches what. Changes are rendered once for everyone, some ten times a second, as long as anybody watches."""

import asyncio
import contextlib
import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Protocol

from django.utils.safestring import SafeString

from streamviz.core.verdicts import Decision
from streamviz.live import rendering
from streamviz.live.channel import Channel
from streamviz.live.feed import Feed, feed, has_passed, now_us
from streamviz.live.fleet_members import SERVER, Member
from streamviz.live.messages import Found
from streamviz.live.pace import Pace
from streamviz.live.peer_counts import PeerCounts
from streamviz.live.recorded import Recorded
from streamviz.live.refusals import Refusal, merged
from streamviz.live.subscriber import TRY_AGAIN, Subscriber
from streamviz.live.topics import Topic, count_asking, newest_ask
from streamviz.live.wall import Wall
from streamviz.live.wall_topic import WallTopic

log = logging.getLogger(__name__)

TICK_SECONDS = 0.1
LONGEST_TICK_SECONDS = 0.3
LEAST_PAUSE_SECONDS = 0.02
# The share of the event loop's time that rendering may take: with much to render, ticks are rarer, up to the longest.
SHARE_BESIDE_CLIENTS = 0.08
SHARE_ALONE = 0.5
_LOOK_US = 5_000_000


class Peers(Protocol):
    """The other workers, if there are any."""

    @property
    def wants_ticks(self) -> bool:
        """Whether they watch our rows."""

    @property
    def are_workers(self) -> bool:
        """Whether they run streams."""

    @property
    def is_away(self) -> bool:
        """Whether they cannot be reached at the moment."""

    @property
    def counts(self) -> PeerCounts:
        """What they report about themselves."""

    async def catch_up(self) -> None:
        """Wait until their rows are on the wall."""

    async def tick(self, changed: set[uuid.UUID], pace: Pace) -> None:
        """Called once per tick, with the streams that changed here since the last."""

    async def join(self, stream_id: uuid.UUID, subscriber: Subscriber) -> bool:
        """Watch a stream that one of them runs; return False if none does."""

    def leave(self, stream_id: uuid.UUID, subscriber: Subscriber) -> None:
        """Stop watching: the socket is gone."""

    async def look_for(self, stream_id: uuid.UUID) -> Found | None:
        """A stream that one of them runs, or ran until just now, for its page; None if none answers."""

    async def decide(
        self, stream_id: uuid.UUID, asks: int, decision: Decision, by: str, *, for_session: bool = False
    ) -> bool | None:
        """Like `actions.decide`; None if none answers."""

    async def cancel(self, stream_id: uuid.UUID, by: str) -> bool | None:
        """Like `actions.cancel`; None if none answers."""

    async def refusals(self) -> list[Refusal]:
        """The requests that they refused before they became streams."""


class Publisher:
    """The channels of one worker. Used from its event loop alone, of whose time rendering takes at most `share`."""

    def __init__(self, feed: Feed, wall: Wall) -> None:
        self.share = SHARE_BESIDE_CLIENTS
        self.feed = feed
        self.wall = wall
        self._channels: dict[str, Channel] = {}
        self._ticker: asyncio.Task[None] | None = None
        self._has_news = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self.peers: Peers | None = None
        # This process's report on itself, once there is one.
        self.itself: Callable[[], Member | None] = lambda: None

    @property
    def has_wall_subscribers(self) -> bool:
        """Whether anybody here watches the Live page."""
        return any(isinstance(channel.topic, WallTopic) for channel in self._channels.values())

    @property
    def watchers(self) -> int:
        """How many sockets watch something here."""
        return sum(len(channel.subscribers) for channel in self._channels.values())

    @property
    def workers(self) -> Peers | None:
        """The others, if streams run there."""
        return self.peers if self.peers is not None and self.peers.are_workers else None

    def send_away(self) -> None:
        """Close all sockets so that browsers connect again, as another process can show them more."""
        for channel in self._channels.values():
            channel.close(TRY_AGAIN)

    def forget_session(self, session_id: uuid.UUID) -> None:
        """Stop showing the finished streams of a deleted session."""
        self.feed.forget_session(session_id)
        self.wall.forget_session(session_id)

    async def catch_up(self) -> None:
        """Bring the wall up to date for somebody who starts to watch it."""
        await self.wall.catch_up(now_us())
        if self.workers is not None:
            await self.workers.catch_up()

    def count_asking(self) -> int:
        """How many running streams wait for a person, here and at the other workers."""
        return count_asking(self.feed) + (self.peers.counts.asking if self.peers else 0)

    async def asked_by(self) -> Counter[str]:
        """For how many blocks each policy waits for a person, here and at the other workers."""
        await self.catch_up()
        return Counter(name for entry in self.wall.entries.values() for name in entry.asked_by)

    async def refusals(self) -> list[Refusal]:
        """The requests that were refused before they became streams, here and at other workers, the newest first."""
        others = await self.workers.refusals() if self.workers is not None else []
        return merged([*self.feed.refusals.all(), *others])

    def asking_shown(self) -> dict[str, object]:
        """What the navigation shows of streams that wait for a person (`rendering.asking_shown`)."""
        newest = max(newest_ask(self.feed), self.peers.counts.newest_ask if self.peers else 0)
        away = self.wall.are_others_away
        return rendering.asking_shown(self.count_asking(), newest, others_away=away, teller=SERVER)

    def nav_asks(self) -> SafeString:
        """The same, as updates of open pages."""
        return rendering.nav_asks(self.asking_shown())

    @property
    def dropped(self) -> int:
        """How many updates were left out for slow browsers, here and at the other workers. Thread-safe."""
        peers = self.peers
        return Subscriber.dropped_of_all + (peers.counts.dropped if peers else 0)

    def members(self) -> list[Member]:
        """All known processes, this one first, with servers that have just fallen silent. Thread-safe."""
        own = self.itself()
        return [*([own] if own else []), *(self.peers.counts.members if self.peers else [])]

    async def join(self, name: str, make_topic: Callable[[], Awaitable[Topic]], subscriber: Subscriber) -> None:
        """Watch a topic: the next tick sends a snapshot, the same for all who joined since the last; deltas follow."""
        if name not in self._channels:
            topic = await make_topic()
            self._channels.setdefault(name, Channel(topic))  # another call may have made one meanwhile
        channel = self._channels[name]
        channel.subscribers.add(subscriber)
        self.tick_while_watched()

    def leave(self, name: str, subscriber: Subscriber) -> None:
        """Stop watching: the socket is gone. A topic that nobody watches is dropped."""
        channel = self._channels.get(name)
        if channel is None:
            return
        channel.subscribers.discard(subscriber)
        if not channel.subscribers:
            self._channels.pop(name, None)

    def tick_while_watched(self) -> None:
        """Make sure that there are ticks as long as anybody watches, here or at another worker."""
        if self._ticker is None or self._ticker.done():
            self._ticker = asyncio.create_task(self._tick(), name="live ticker")

    async def _tick(self) -> None:
        began_at, spent = monotonic(), 0.0
        self._has_news = asyncio.Event()
        while self._channels or (self.peers and self.peers.wants_ticks):
            tick_seconds = min(max(TICK_SECONDS, spent / self.share), LONGEST_TICK_SECONDS)
            least = max(began_at + tick_seconds / 2, monotonic() + LEAST_PAUSE_SECONDS)
            await self._pause(least, began_at + tick_seconds)
            began_at = monotonic()
            changed, painting = self.feed.take_changed(), Pace()
            if self.peers:
                await self.peers.tick(changed, painting)
            await self._paint(changed, painting)
            publishing = Pace()
            for name, channel in list(self._channels.items()):
                await self._publish(name, channel, changed, publishing)
            spent = painting.spent + publishing.spent

    async def _pause(self, least: float, until: float) -> None:
        """Sleep until `until`, or until another worker, which has paused itself, sends rows; at least until `least`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(until - monotonic()):
                await self._has_news.wait()
        await asyncio.sleep(least - monotonic())
        self._has_news.clear()

    def tick_soon(self) -> None:
        """Have the next tick sooner, as rows of another worker have come."""
        self._has_news.set()

    async def _paint(self, changed: set[uuid.UUID], pace: Pace) -> None:
        if not self.wall.is_watched:
            return
        try:
            await self.wall.refresh(changed, now_us(), pace)
        except Exception:
            log.exception("could not draw the rows of the Live page")
        self._look_at_record(now_us())

    def _look_at_record(self, now: int) -> None:
        """In the background: a slow database must not stop the ticks."""
        if has_passed(_LOOK_US, self.wall.looked_at, now) and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self.wall.look_at_record(now), name="recent streams")

    async def _publish(self, name: str, channel: Channel, changed: set[uuid.UUID], pace: Pace) -> None:
        try:
            await channel.publish(changed, now_us(), pace)
        except Exception:  # One stream that cannot be drawn must not stop the pages of all the others.
            log.exception("could not draw %s", name)
            channel.close(TRY_AGAIN)
        # Whoever left meanwhile may have come back, to a new channel of the same name.
        if not channel.subscribers and self._channels.get(name) is channel:
            del self._channels[name]


publisher = Publisher(feed, Wall(feed, Recorded()))
