"""A stream of another worker, for those who watch it here: its messages are handed on as they come."""

import asyncio
from time import monotonic

from streamviz.live.subscriber import TRY_AGAIN, Message, Subscriber


class RemoteStream:
    """The sockets that watch it, and the number of the last message that came."""

    def __init__(self) -> None:
        self.subscribers: set[Subscriber] = set()
        self.answered = asyncio.Event()
        self.is_known = False
        self.heard_at = 0.0
        self._number: int | None = None

    @property
    def wants_snapshot(self) -> bool:
        """Whether the worker that runs it has to send everything again."""
        return self._number is None or any(subscriber.wants_snapshot for subscriber in self.subscribers)

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
        else:
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
        for subscriber in self.subscribers:
            if is_news or subscriber.wants_snapshot:
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
