"""Other workers that watch streams of ours: what a socket of ours would get goes there."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic

from streamviz.live.hub import Hub
from streamviz.live.stream_topic import StreamTopic
from streamviz.live.streams import LiveStream
from streamviz.live.watcher import Message, Watcher

Relay = Callable[[str, uuid.UUID, Message], Awaitable[None]]


@dataclass(slots=True)
class _Visitor:
    """A worker that watches one stream."""

    task: asyncio.Task[None]
    watcher: Watcher
    heard_at: float = 0.0


class Visitors:
    """`relay` sends a worker a message of a stream."""

    def __init__(self, hub: Hub, relay: Relay) -> None:
        self._hub = hub
        self._relay = relay
        self._visitors: dict[tuple[str, uuid.UUID], _Visitor] = {}

    async def show(self, name: str, stream: LiveStream, again: bool) -> None:
        """A worker watches a stream, still or from now on. `again`: it wants a snapshot."""
        visitor = self._visitors.get((name, stream.id))
        if visitor is None or visitor.task.done():
            watcher = Watcher(relays=True)
            task = asyncio.create_task(self._send_all(name, stream.id, watcher))
            visitor = self._visitors[name, stream.id] = _Visitor(task, watcher)

            async def topic() -> StreamTopic:
                return StreamTopic(stream, partial(self._hub.nav_held, oob=True))

            await self._hub.join(str(stream.id), topic, watcher)
        elif again:
            visitor.watcher.wants_snapshot = True
        visitor.heard_at = monotonic()

    def forget(self, limit: float) -> None:
        """Let go of those that have said nothing since then, and of those that have all of their stream."""
        for key, visitor in list(self._visitors.items()):
            if visitor.heard_at < limit or visitor.task.done():
                visitor.task.cancel()
                self._hub.leave(str(key[1]), visitor.watcher)
                del self._visitors[key]

    async def _send_all(self, name: str, stream_id: uuid.UUID, watcher: Watcher) -> None:
        is_open = True
        while is_open:
            message = await watcher.outbox.get()
            is_open = message.close is None
            await self._relay(name, stream_id, message)
            watcher.confirm(message.number)
