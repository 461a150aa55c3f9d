"""A topic with the sockets that watch it: what all of them are sent, and what one that has to catch up is sent."""

import uuid

from streamviz.live.feed import has_passed, now_us
from streamviz.live.pace import Pace
from streamviz.live.subscriber import OVER, Message, Subscriber, head
from streamviz.live.topics import Topic

# How many browsers are sent something before clients come first again.
_AT_ONCE = 4
_ALIVE_US = 5_000_000
# Snapshots are expensive, and a browser may ask for one as often as it likes.
_SNAPSHOT_US = 500_000


class Channel:
    """A topic, the sockets that watch it, and the number of its last message."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.subscribers: set[Subscriber] = set()
        self.number = 0
        self._told_at = now_us()

    async def publish(self, changed: set[uuid.UUID], now: int, pace: Pace) -> None:
        """Bring all subscribers up to date."""
        async for update in self.topic.updates(changed, now, pace):
            self.number += 1
            message = Message(self.number, head(self.number, "delta", now) + update.html, is_text=update.is_text)
            await self._offer(message, now, pace)
            self._told_at = now
        if has_passed(_ALIVE_US, self._told_at, now):
            self._told_at = now
            self._tell("alive", now)
        await self._show_again(now, pace)
        # A subscriber that joined while the last snapshot was rendered gets one on the next tick.
        if self.topic.is_over and not any(subscriber.wants_snapshot for subscriber in self.subscribers):
            self._end(now)

    async def _offer(self, message: Message, now: int, pace: Pace) -> None:
        """Offer a message to a few at a time: each socket is handed many kB."""
        subscribers = list(self.subscribers)
        for first in range(0, len(subscribers), _AT_ONCE):
            for subscriber in subscribers[first : first + _AT_ONCE]:
                if subscriber.relays or not subscriber.wants_snapshot:
                    subscriber.offer(message, now, is_text=message.is_text)
            if first + _AT_ONCE < len(subscribers):
                await pace.give_way()
        await pace.rest()

    async def _show_again(self, now: int, pace: Pace) -> None:
        """Send snapshots to those that asked for one, or had something left out and have caught up."""
        wanting = [subscriber for subscriber in self.subscribers if self._is_shown_again(subscriber, now)]
        if wanting:
            html = await self.topic.snapshot(now, pace)
            for subscriber in wanting:
                subscriber.show(self.number, html, now)

    def _is_shown_again(self, subscriber: Subscriber, now: int) -> bool:
        if self.topic.is_over:
            return subscriber.wants_snapshot or subscriber.dropped > 0
        is_due = has_passed(_SNAPSHOT_US, subscriber.shown_at, now)
        return subscriber.wants_snapshot and subscriber.has_room and is_due

    def _tell(self, kind: str, now: int) -> None:
        for subscriber in self.subscribers:
            subscriber.tell(self.number, kind, now)

    def _end(self, now: int) -> None:
        self._tell("end", now)
        self.close(OVER)

    def close(self, code: int) -> None:
        """Close all subscribers with `code`."""
        for subscriber in self.subscribers:
            subscriber.close(code)
        self.subscribers.clear()
