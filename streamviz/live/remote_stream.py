"""Streams of other workers, for those who watch them here: their messages are handed on as they come."""

import asyncio
import contextlib
import uuid
from time import monotonic

from streamviz.live import messages, peer_channel
from streamviz.live.feed import now_us
from streamviz.live.subscriber import TRY_AGAIN, Message, Subscriber


class RemoteStream:
    """One stream: the sockets that watch it, and the number of the last message that came.

    `is_asked` while a snapshot was asked for and has not come: it is painted anew each time that it is asked for.
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
        """Whether the worker that runs it has to send everything again: not for one who has not taken the last yet."""
        return self._number is None or any(_can_be_shown(subscriber) for subscriber in self.subscribers)

    def take(self, message: Message, now: int, *, is_text: bool) -> None:
        """Hand a message on. One that does not follow the last one is dropped: there has to be a snapshot then."""
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
        elif kind != "known":  # which says no more than that it runs there
            for subscriber in self.subscribers:
                subscriber.tell(message.number, kind, now)

    def _end(self, number: int, now: int) -> None:
        """Who is missing something is sent away to come back: nothing more comes from the worker that ran it."""
        for subscriber in list(self.subscribers):
            if subscriber.wants_snapshot or subscriber.dropped:
                subscriber.close(TRY_AGAIN)
                self.subscribers.discard(subscriber)
            else:
                subscriber.tell(number, "end", now)

    def close(self, code: int) -> None:
        """Send all subscribers away."""
        for subscriber in self.subscribers:
            subscriber.close(code)
        self.subscribers.clear()

    def _show(self, number: int, html: str, now: int) -> None:
        # Where it comes in place of messages that we were not sent, all need it.
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
    """All that are watched here. They are asked for over `channel`."""

    def __init__(self, channel: peer_channel.PeerChannel) -> None:
        self._channel = channel
        self._streams: dict[uuid.UUID, RemoteStream] = {}

    async def join(self, stream_id: uuid.UUID, subscriber: Subscriber) -> bool:
        """Watch a stream that another worker runs; False where none answers that it does."""
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
        """The socket is gone."""
        remote = self._streams.get(stream_id)
        if remote is None:
            return
        remote.subscribers.discard(subscriber)
        if not remote.subscribers:
            del self._streams[stream_id]

    def take(self, message: messages.Relayed | messages.StreamUnknown) -> None:
        """The worker that runs a stream, or could, says something of it."""
        remote = self._streams.get(message.stream_id)
        if remote is None:
            return
        if isinstance(message, messages.Relayed):
            remote.take(Message(message.number, message.text, message.close), now_us(), is_text=message.is_text)
        else:
            remote.answered.set()

    async def want_snapshots(self) -> None:
        """Ask for everything again of those of which something is missing."""
        for stream_id, remote in list(self._streams.items()):
            if self._channel.is_away:
                return
            if remote.answered.is_set() and remote.wants_snapshot and not remote.is_asked:
                await self._want(stream_id, remote, again=True)

    async def remind(self) -> None:
        """Say that they are still watched, and what is still missing: what was said of it may have been lost."""
        for stream_id, remote in list(self._streams.items()):
            if self._channel.is_away:
                return
            await self._want(stream_id, remote, again=remote.wants_snapshot)

    async def _want(self, stream_id: uuid.UUID, remote: RemoteStream, *, again: bool) -> None:
        remote.is_asked |= again
        await self._channel.publish(messages.StreamWanted(self._channel.name, stream_id, again))

    def forget(self, limit: float) -> None:
        """Send those away who watch what nobody has said anything of since then (`monotonic`)."""
        for stream_id, remote in list(self._streams.items()):
            if remote.answered.is_set() and remote.heard_at < limit:
                remote.close(TRY_AGAIN)
                del self._streams[stream_id]
