"""The websocket consumers: a browser watches the wall or one stream. All it sends is the number of the last message
that it has taken in, and `again`."""

import asyncio
import contextlib
import logging
import uuid
from collections import Counter
from typing import Any, ClassVar
from urllib.parse import parse_qs

import msgspec
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AnonymousUser, User
from django.db import DatabaseError

from streamviz.asgi_types import Receive, Send
from streamviz.live import rendering
from streamviz.live.access import refusal, refusal_of, user_now
from streamviz.live.feed import now_us
from streamviz.live.filters import Filter, parse_filter
from streamviz.live.pace import Pace
from streamviz.live.presentation.stream_views import view_of_record
from streamviz.live.publisher import publisher
from streamviz.live.recorded import in_thread
from streamviz.live.stream_topic import StreamTopic
from streamviz.live.subscriber import OVER, TRY_AGAIN, Subscriber
from streamviz.live.wall_topic import WallTopic
from streamviz.records.models import Stream
from streamviz.records.queries import streams

log = logging.getLogger(__name__)

RECHECK_SECONDS = 60.0
# Per user. Nobody has that many pages open, and each costs something with every chunk.
MOST_SOCKETS = 100
_NOT_FOUND = 4404


class Said(msgspec.Struct):
    """What a browser sends: the number of the last message it has taken in, and whether it needs everything again."""

    seen: int = 0
    again: bool = False


class WatchConsumer(AsyncWebsocketConsumer):
    """What both websockets share. A socket that may not watch is accepted, then closed with a code that says why."""

    # An alias that does not exist. Otherwise Channels subscribes each socket at Redis, and accepts none without it.
    channel_layer_alias = "none"

    # How many sockets each user has open in this process.
    _open: ClassVar[Counter[int]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.subscriber = Subscriber()
        self._tasks: list[asyncio.Task[None]] = []
        self._whose: int | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Called by Channels for each socket."""
        try:
            await super().__call__(scope, receive, send)
        finally:  # however it ended
            self.leave()

    async def connect(self) -> None:
        # Accept first: a handshake times out within seconds, and if many arrive together the database may need longer.
        await self.accept()
        if code := await self._admit():
            await self.close(code)
            return
        sending = asyncio.create_task(self._send_all())
        self._tasks = [sending, asyncio.create_task(self._recheck()), asyncio.create_task(self._send_away(sending))]
        try:
            await self.watch()
        except DatabaseError as error:
            log.warning("cannot read what a browser asked to watch: %s", error)
            self.subscriber.close(TRY_AGAIN)

    async def watch(self) -> None:
        """Subscribe to this socket's topic."""
        raise NotImplementedError

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Called by Channels for each message. Its own version first looks, in a thread, for database connections to
        close. Browsers' messages need no database, and each browser sends five a second; nor should a socket wait for
        that thread to be accepted."""
        match message["type"]:
            case "websocket.connect":
                await self.websocket_connect(message)
            case "websocket.receive":
                await self.websocket_receive(message)
            case _:
                await super().dispatch(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            said = msgspec.json.decode(text_data or "", type=Said)
            self.subscriber.confirm(said.seen)
            self.subscriber.wants_snapshot |= said.again

    async def _admit(self) -> int | None:
        """Return the code to close the socket with if its user may not watch, or has too many open already."""
        try:
            user = await user_now(self.scope)
            return await refusal_of(user) or self._come(user)
        except DatabaseError as error:
            log.warning("cannot tell who opens a websocket: %s", error)
            return TRY_AGAIN

    def _come(self, user: User | AnonymousUser) -> int | None:
        """Count the socket; return the code to close it with if its user has too many open."""
        whose = user.pk
        assert whose is not None, "strangers are refused before"
        if self._open[whose] >= MOST_SOCKETS:
            return TRY_AGAIN
        self._open[whose] += 1
        self._whose = whose
        return None

    def leave(self) -> None:
        """Clean up after the browser has left."""
        for task in self._tasks:
            task.cancel()
        if self._whose is not None:
            self._open[self._whose] -= 1
            if not self._open[self._whose]:
                del self._open[self._whose]

    async def _send_all(self) -> None:
        while (message := await self.subscriber.outbox.get()).close is None:
            await self.send(text_data=message.text)
        if message.close == OVER:
            await self.close(OVER)

    async def _send_away(self, sending: "asyncio.Task[None]") -> None:
        """Close the socket even in the middle of a message that its browser never takes."""
        await self.subscriber.sent_away.wait()
        sending.cancel()
        await self.close(self.subscriber.closed_with)

    async def _recheck(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                if code := await refusal(self.scope):
                    self.subscriber.close(code)
            except DatabaseError as error:
                log.warning("cannot check whether a user may still watch: %s", error)


class WallConsumer(WatchConsumer):
    """/ws/live/?q=<filter>: the streams that match the filter. Sockets with the same filter share what is rendered."""

    @property
    def _filter(self) -> Filter:
        return parse_filter(parse_qs(self.scope["query_string"].decode("latin-1")).get("q", [""])[0])

    async def watch(self) -> None:
        wanted = self._filter

        async def topic() -> WallTopic:
            await publisher.catch_up()
            return WallTopic(publisher.wall, wanted)

        await publisher.join(f"wall {wanted.text}", topic, self.subscriber)

    def leave(self) -> None:
        super().leave()
        publisher.leave(f"wall {self._filter.text}", self.subscriber)


class StreamConsumer(WatchConsumer):
    """/ws/streams/<id>/: one stream. If it is over and no longer in memory, it is shown from the record, once."""

    @property
    def _stream_id(self) -> uuid.UUID:
        stream_id: uuid.UUID = self.scope["url_route"]["kwargs"]["stream_id"]
        return stream_id

    async def watch(self) -> None:
        stream = publisher.feed.get(self._stream_id)
        if stream is None:
            if publisher.workers is None or not await publisher.workers.join(self._stream_id, self.subscriber):
                await self._show_record()
        else:

            async def topic() -> StreamTopic:
                return StreamTopic(stream, publisher.nav_asks)

            await publisher.join(str(stream.id), topic, self.subscriber)

    async def _show_record(self) -> None:
        now = now_us()
        try:
            record = await in_thread(streams.load)(self._stream_id)
        except Stream.DoesNotExist:
            self.subscriber.close(_NOT_FOUND)
            return
        if not record.outcome:
            # It runs at a worker that did not answer, or its end is not in the record yet.
            self.subscriber.close(TRY_AGAIN)
            return
        view = await in_thread(view_of_record)(record)
        html = await rendering.stream(view, now, Pace(), oob=True)
        self.subscriber.show(0, html + "".join(rendering.header(view, now, oob=True).values()), now)
        self.subscriber.tell(0, "end", now)
        self.subscriber.close(OVER)

    def leave(self) -> None:
        super().leave()
        publisher.leave(str(self._stream_id), self.subscriber)
        if publisher.workers:
            publisher.workers.leave(self._stream_id, self.subscriber)
