"""Streams of other workers, for those who watch them here: messages are passed on as they come."""

import asyncio
import contextlib
import uuid
from time import monotonic

from streamviz.live import messages, peer_channel
from streamviz.live.feed import now_us
from streamviz.live.subscriber import TRY_AGAIN, Message, Subscriber


class RemoteStream:
    """One stream: the sockets that watch it, and the number of the last message that came.

    `is_asked` is true while a snapshot was requested and has not come: each request has it rendered anew.
    """

    def __init__(self) -> None:
        self.subscribers: set[Subscriber] = set()
        self.answered = asyncio.Event()
        self.is_known = False
        self.is_asked = False
        self.heard_at = 0.0
        self._number: int | None = None

    @property
    def wants_snapshot(self) -> bool:
        """Whether the worker that runs it has to send everything again. Sockets without room for that do not count."""
        return self._number is None or any(_can_be_shown(subscriber) for subscriber in self.subscribers)

    def take(self, message: Message, now: int, *, is_text: bool) -> None:
        """Pass a message on. One that does not follow the last one is dropped, and a snapshot is needed."""
        self.heard_at = monotonic()
        self.is_known = True
        self.answered.set()
        if message.close is not None:
            self.close(message.close)
            return
        first, _, html = message.text.partition("\n")
        kind = first.split(" ")[1]
        if kind == "snapshot":
            self._show(message.number, html, now)
        elif kind == "delta":
            self._offer(message, now, is_text)
        elif kind == "end":
            self._end(message.number, now)
        elif kind != "known":  # which only says that the stream runs there
            for subscriber in self.subscribers:
                subscriber.tell(message.number, kind, now)

    def _end(self, number: int, now: int) -> None:
        """Close the sockets that are missing something, so that they connect again: no more comes from that worker."""
        for subscriber in list(self.subscribers):
            if subscriber.wants_snapshot or subscriber.dropped:
                subscriber.close(TRY_AGAIN)
                self.subscribers.discard(subscriber)
            else:
                subscriber.tell(number, "end", now)

    def close(self, code: int) -> None:
        """Close all subscribers with `code`."""
        for subscriber in self.subscribers:
            subscriber.close(code)
        self.subscribers.clear()

    def _show(self, number: int, html: str, now: int) -> None:
        # If it replaces messages that we were not sent, everyone needs it.
        is_news = number != self._number
        self._number = number
        self.is_asked = False
        for subscriber in self.subscribers:
            subscriber.wants_snapshot |= is_news
            if _can_be_shown(subscriber):
                subscriber.show(number, html, now)

    def _offer(self, message: Message, now: int, is_text: bool) -> None:
        if self._number is None or message.number <= self._number:
            return
        if message.number != self._number + 1:
            self._number = None
            for subscriber in self.subscribers:
                subscriber.wants_snapshot = True
            return
        self._number = message.number
        for subscriber in self.subscribers:
            if not subscriber.wants_snapshot:
                subscriber.offer(message, now, is_text=is_text)


def _can_be_shown(subscriber: Subscriber) -> bool:
    """Whether it needs a snapshot, and has room for one."""
    return subscriber.wants_snapshot and subscriber.has_room


class RemoteStreams:
    """All remote streams that are watched here. They are requested over `channel`."""

    def __init__(self, channel: peer_channel.PeerChannel) -> None:
        self._channel = channel
        self._streams: dict[uuid.UUID, RemoteStream] = {}

    async def join(self, stream_id: uuid.UUID, subscriber: Subscriber) -> bool:
        """Watch a stream that another worker runs; return False if none answers that it does."""
        remote = self._streams.setdefault(stream_id, RemoteStream())
        remote.subscribers.add(subscriber)
        await self._want(stream_id, remote, again=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(peer_channel.ANSWER_SECONDS):
                await remote.answered.wait()
        if not remote.is_known:
            self.leave(stream_id, subscriber)
        return remote.is_known

    def leave(self, stream_id: uuid.UUID, subscriber: Subscriber) -> None:
        """Stop watching: the socket is gone."""
        remote = self._streams.get(stream_id)
        if remote is None:
            return
        remote.subscribers.discard(subscriber)
        if not remote.subscribers:
            del self._streams[stream_id]

    def take(self, message: messages.Relayed | messages.StreamUnknown) -> None:
        """Take a message from the worker that runs a stream, or would run it."""
        remote = self._streams.get(message.stream_id)
        if remote is None:
            return
        if isinstance(message, messages.Relayed):
            remote.take(Message(message.number, message.text, message.close), now_us(), is_text=message.is_text)
        else:
            remote.answered.set()

    async def want_snapshots(self) -> None:
        """Request a snapshot of each stream that is missing something."""
        for stream_id, remote in list(self._streams.items()):
            if self._channel.is_away:
                return
            if remote.answered.is_set() and remote.wants_snapshot and not remote.is_asked:
                await self._want(stream_id, remote, again=True)

    async def remind(self) -> None:
        """Repeat that they are still watched, and what is still missing: earlier requests may have been lost."""
        for stream_id, remote in list(self._streams.items()):
            if self._channel.is_away:
                return
            await self._want(stream_id, remote, again=remote.wants_snapshot)

    async def _want(self, stream_id: uuid.UUID, remote: RemoteStream, *, again: bool) -> None:
        remote.is_asked |= again
        await self._channel.publish(messages.StreamWanted(self._channel.name, stream_id, again))

    def forget(self, limit: float) -> None:
        """Close the sockets of streams that nothing was heard of since `limit`, of `time.monotonic`."""
        for stream_id, remote in list(self._streams.items()):
            if remote.answered.is_set() and remote.heard_at < limit:
                remote.close(TRY_AGAIN)
                del self._streams[stream_id]
