"""One socket's end of a channel: what it was sent, what its browser has confirmed, and what had to be left out."""

import asyncio
from collections import deque
from typing import ClassVar, NamedTuple

# How many characters a browser may be behind before text is left out for it, and before it must connect again.
WINDOW = 256 * 1024
MOST = 4 * 1024 * 1024

SIGNED_OUT = 4401
FORBIDDEN = 4403
# 1013, the registered code for this, is one that the server's library refuses to send.
TRY_AGAIN = 4013
OVER = 1000


class Message(NamedTuple):
    """What goes over a socket: `text`, or, if `close` is set, the code that the socket is closed with."""

    number: int
    text: str
    close: int | None = None
    is_text: bool = False


def head(number: int, kind: str, now: int, dropped: int = 0) -> str:
    """The first line of a message. `now` is µs since the epoch; browsers get ms."""
    return f"{number} {kind} {now // 1000} {dropped}\n"


class Outbox(asyncio.Queue[Message]):
    """The messages that wait for a socket, and how many characters they have."""

    characters = 0

    def _put(self, item: Message) -> None:
        """Called by the queue."""
        self.characters += len(item.text)
        super()._put(item)

    def _get(self) -> Message:
        """Called by the queue."""
        message: Message = super()._get()
        self.characters -= len(message.text)
        return message


class Subscriber:
    """Takes messages without waiting; its consumer takes them from `outbox` at the browser's pace.

    `relays`: it passes them on to several others, who must not all be shown everything again because one asks for it.
    """

    # Of all sockets of this worker, since it started.
    dropped_of_all: ClassVar[int] = 0

    def __init__(self, *, relays: bool = False) -> None:
        self.relays = relays
        self.outbox = Outbox()
        self.sent_away = asyncio.Event()
        self.dropped = 0
        self.wants_snapshot = True
        self.shown_at = 0
        self._unconfirmed: deque[tuple[int, int]] = deque()
        self._size = 0
        self._told = 0
        self.closed_with: int | None = None

    def offer(self, message: Message, now: int, *, is_text: bool) -> None:
        """Queue a delta. Text is left out if the browser is behind; anything else never is."""
        if self.closed_with is not None:
            return
        if is_text and (self.dropped or self._size > WINDOW):
            self.dropped += 1
            Subscriber.dropped_of_all += 1
            return
        if self.dropped != self._told:
            self._told = self.dropped
            self.outbox.put_nowait(Message(message.number - 1, head(message.number - 1, "behind", now, self.dropped)))
        self._size += len(message.text)
        self._unconfirmed.append((message.number, len(message.text)))
        self.outbox.put_nowait(message)
        # A browser may confirm what it never took, so what waits is counted as well.
        if self._size > MOST or self.outbox.characters > MOST:
            self.close(TRY_AGAIN)

    @property
    def has_room(self) -> bool:
        """Whether the socket has taken enough to be shown everything again; each snapshot is a message of its own."""
        return self.relays or self.outbox.characters < WINDOW

    def show(self, number: int, html: str, now: int) -> None:
        """Queue a snapshot, after which nothing is missing. It is the remedy, so it does not count as unconfirmed."""
        if self.closed_with is not None:
            return
        self.outbox.put_nowait(Message(number, head(number, "snapshot", now, self.dropped) + html))
        self.dropped = self._told = 0
        self.wants_snapshot = False
        self.shown_at = now

    def tell(self, number: int, kind: str, now: int) -> None:
        """Queue a message with nothing to show."""
        if self.closed_with is not None:
            return
        self.outbox.put_nowait(Message(number, head(number, kind, now, self.dropped)))

    def confirm(self, number: int) -> None:
        """The browser has taken in everything up to `number`."""
        while self._unconfirmed and self._unconfirmed[0][0] <= number:
            self._size -= self._unconfirmed.popleft()[1]
        if self.dropped and self._size <= WINDOW // 2:
            self.wants_snapshot = True

    def close(self, code: int) -> None:
        """Take nothing more. If the stream is OVER, what waits is sent first; otherwise the socket is `sent_away` at
        once, as it may never take what waits."""
        if self.closed_with is not None:
            return
        if code != OVER:
            while not self.outbox.empty():
                self.outbox.get_nowait()
            self.sent_away.set()
        self.closed_with = code
        self.outbox.put_nowait(Message(0, "", code))
