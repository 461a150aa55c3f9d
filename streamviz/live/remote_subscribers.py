"""Other workers that watch our streams: they are sent what a socket of ours would get."""

import asyncio
import uuid
from dataclasses import dataclass
from time import monotonic

from streamviz.exchange.stream import LiveStream
from streamviz.live import messages
from streamviz.live.feed import now_us
from streamviz.live.peer_channel import PeerChannel
from streamviz.live.publisher import Publisher
from streamviz.live.stream_topic import StreamTopic
from streamviz.live.subscriber import Subscriber, head


@dataclass(slots=True)
class _RemoteSubscriber:
    """A worker that watches one stream."""

    task: asyncio.Task[None]
    subscriber: Subscriber
    heard_at: float = 0.0


class RemoteSubscribers:
    """Other workers, which get messages about streams over `channel`."""

    def __init__(self, publisher: Publisher, channel: PeerChannel) -> None:
        self._publisher = publisher
        self._channel = channel
        self._subscribers: dict[tuple[str, uuid.UUID], _RemoteSubscriber] = {}

    async def show(self, name: str, stream: LiveStream, again: bool) -> None:
        """Note that a worker watches a stream, still or from now on. `again`: it wants a snapshot."""
        remote = self._subscribers.get((name, stream.id))
        if remote is None or remote.task.done():
            subscriber = Subscriber(relays=True)
            task = asyncio.create_task(self._send_all(name, stream.id, subscriber))
            remote = self._subscribers[name, stream.id] = _RemoteSubscriber(task, subscriber)

            async def topic() -> StreamTopic:
                return StreamTopic(stream, self._publisher.nav_asks)

            await self._publisher.join(str(stream.id), topic, subscriber)
        elif again:
            remote.subscriber.wants_snapshot = True
        remote.heard_at = monotonic()
        await self._say_known(name, stream.id)

    def forget(self, limit: float) -> None:
        """Drop those that have said nothing since `limit`, and those that have been sent all of their stream."""
        for key, remote in list(self._subscribers.items()):
            if remote.heard_at < limit or remote.task.done():
                remote.task.cancel()
                self._publisher.leave(str(key[1]), remote.subscriber)
                del self._subscribers[key]

    async def _say_known(self, name: str, stream_id: uuid.UUID) -> None:
        """Say so at once: a snapshot may take long. An ordinary message, so that older versions can read it."""
        text = head(0, "known", now_us())
        await self._channel.send(name, messages.Relayed(self._channel.name, stream_id, 0, text, False, None))

    async def _send_all(self, name: str, stream_id: uuid.UUID, subscriber: Subscriber) -> None:
        is_open = True
        while is_open:
            said = await subscriber.outbox.get()
            is_open = said.close is None
            told = (self._channel.name, stream_id, said.number, said.text, said.is_text, said.close)
            await self._channel.send(name, messages.Relayed(*told))
            subscriber.confirm(said.number)
