"""A worker's channel to the others, over a layer that may be down for a while."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator
from time import monotonic

import msgspec
from channels.exceptions import ChannelFull
from django.conf import settings

from streamviz.live import messages

log = logging.getLogger(__name__)

GROUP = "streamviz.workers"
POST_SECONDS = 2.0
# How long to wait for another worker's answer.
ANSWER_SECONDS = 2.0
TELL_SECONDS = 60.0


def away() -> tuple[type[Exception], ...]:
    """The errors of a layer that cannot be reached: Redis's too, but only if it has been imported, as importing it
    takes up to a tenth of a server's start-up time."""
    redis = sys.modules.get("redis.exceptions")
    return (OSError, redis.RedisError) if redis else (OSError,)


def _failures() -> tuple[type[Exception], ...]:
    return *away(), ChannelFull, msgspec.DecodeError


class PeerChannel:
    """`name` begins with `prefix`, and is empty until the channel is open. What cannot be sent is lost.

    `on_away` is called on each failure that means the layer is down, `on_back` on each success. `is_away` is true in
    between: whoever has much to send should not try then, as each attempt may take long.
    """

    def __init__(
        self, layer: messages.Layer, prefix: str, on_away: Callable[[], None], on_back: Callable[[], None]
    ) -> None:
        self.name = ""
        self.is_away = False
        self._layer = layer
        self._prefix = prefix
        self._on_away = on_away
        self._on_back = on_back
        self._failure_told_at = -TELL_SECONDS

    async def open(self) -> None:
        """Join the others now, or as soon as they can be reached."""
        with self._surviving():
            await self._be_heard()

    async def close(self) -> None:
        """Leave the others."""
        with contextlib.suppress(*_failures()):
            await self._layer.group_discard(GROUP, self.name)

    async def receive(self) -> messages.AnyMessage | None:
        """The next message from another worker; None if receiving failed."""
        try:
            if not self.name:
                await self._be_heard()
                self._note_back()
            while True:
                received = await self._layer.receive(self.name)
                message = messages.unpack(received["data"])
                if message.sender != self.name:
                    return message
        except _failures() as error:
            self._note_failure(error)
            return None

    async def publish(self, message: messages.AnyMessage) -> None:
        """Send a message to all others."""
        await self._post(lambda packed: self._layer.group_send(GROUP, packed), message)

    async def send(self, name: str, message: messages.AnyMessage) -> None:
        """Send a message to one of them."""
        await self._post(lambda packed: self._layer.send(name, packed), message)

    async def _be_heard(self) -> None:
        async with asyncio.timeout(POST_SECONDS):
            name = await self._layer.new_channel(self._prefix)
            await self._layer.group_add(GROUP, name)
        self.name = name

    async def _post(
        self, post: Callable[[messages.LayerMessage], Awaitable[None]], message: messages.AnyMessage
    ) -> None:
        if not self.name:
            return  # nobody could answer
        with self._surviving():
            async with asyncio.timeout(POST_SECONDS):
                await post({"type": "streamviz.message", "data": messages.pack(message)})
            self._note_back()

    @contextlib.contextmanager
    def _surviving(self) -> Iterator[None]:
        try:
            yield
        except _failures() as error:
            self._note_failure(error)

    def _note_back(self) -> None:
        self.is_away = False
        self._on_back()

    def _note_failure(self, error: Exception) -> None:
        """Logs at most once a minute, as there may be many messages each second."""
        if isinstance(error, away()):
            self.is_away = True
            self._on_away()
        if monotonic() - self._failure_told_at >= TELL_SECONDS:
            self._failure_told_at = monotonic()
            by_way_of = " through Redis" if settings.REDIS_URL else ""
            log.warning("the other workers cannot be reached%s: %s", by_way_of, str(error) or type(error).__name__)
