"""The rows of the other workers' streams, as they are on our Live page."""

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import monotonic

from streamviz.live import messages
from streamviz.live.pace import Pace
from streamviz.live.wall import Wall


@dataclass(slots=True)
class _Sender:
    """A worker whose rows we have: the number of its last message (None if one was lost), and the ids of the rows."""

    number: int | None = None
    heard_at: float = 0.0
    ids: set[uuid.UUID] = field(default_factory=set)


class PeerRows:
    """Puts rows on `wall`, and knows whose are missing. `came` is set when a worker has sent all of its rows."""

    def __init__(self, wall: Wall) -> None:
        self.came = asyncio.Event()
        self._wall = wall
        self._senders: dict[str, _Sender] = {}
        self._times_forgotten = 0

    @property
    def are_missing(self) -> bool:
        """Whether to ask for all rows: no worker has sent any, or a message was lost."""
        return not self._senders or any(sender.number is None for sender in self._senders.values())

    def have_come_from(self, names: Iterable[str]) -> bool:
        """Whether we have all rows of these workers."""
        return all(name in self._senders and self._senders[name].number is not None for name in names)

    async def take(self, message: messages.Rows, pace: Pace) -> bool:
        """Take rows from another worker, one message after the other. Returns False if an earlier message was lost."""
        sender = self._senders.setdefault(message.sender, _Sender())
        sender.heard_at = monotonic()
        is_next = message.is_all or (sender.number is not None and message.number == sender.number + 1)
        ids = {row.id for row in message.rows}
        if message.is_all:
            # A message that said that some are gone may have been lost.
            self._drop_running(sender.ids - ids)
        await self._wall.take(message.rows, pace)
        self._drop_running(message.gone)
        sender.ids |= ids
        # Only now, as it says that the rows are on the wall.
        sender.number = message.number if is_next else None
        if message.is_all:
            self.came.set()
        return is_next

    def note_forgotten(self) -> None:
        """If the wall has dropped rows, have them sent again."""
        if self._times_forgotten != self._wall.times_forgotten:
            self._times_forgotten = self._wall.times_forgotten
            self.clear()

    def clear(self) -> None:
        """Forget whose rows we have."""
        self._senders.clear()

    def doubt(self) -> None:
        """Treat all rows as incomplete: messages may have been lost."""
        for sender in self._senders.values():
            sender.number = None

    def forget(self, limit: float) -> None:
        """Drop the rows of workers that have said nothing since `limit`, of `time.monotonic`."""
        for name, sender in list(self._senders.items()):
            sender.ids &= self._wall.entries.keys()
            if sender.heard_at < limit:
                # Its streams are over, or nobody can see them: those that had ended stay in the list of recent ones.
                self._drop_running(sender.ids)
                del self._senders[name]

    def _drop_running(self, ids: Iterable[uuid.UUID]) -> None:
        for stream_id in ids:
            entry = self._wall.entries.get(stream_id)
            if entry and entry.ended_at is None:
                self._wall.drop(stream_id)
