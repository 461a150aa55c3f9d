"""What arrives at the same time is done a few at a time, and running streams continue in between."""

import asyncio
from collections import deque

from streamviz.upstream.answer import Answer

# How much of a flood is taken in one slot: some 2 ms of work. Less at a time is not a flood. Each event is work,
# however short, and the shortest are empty lines.
_PIECE_BYTES = 16 * 1024
_PIECE_LINES = 512
_SMALL_BYTES = 4 * 1024


class Slots:
    """Gives some slots in each round of the event loop, to those who have waited longest.

    Beginning a stream takes a hundred times as long as passing on a chunk. If all that arrive together began in one
    round, no running stream would progress meanwhile, and the first of them would be answered no sooner than the last.
    If it were always one, the last of many would wait long on a busy machine. So it is one, or a fifth of those waiting
    if that is more, unless `a_round` says how many.
    """

    def __init__(self, a_round: int | None = None) -> None:
        self.taken_at = 0.0  # when a slot was last asked for (s, by the event loop's clock)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._a_round = a_round
        self._taken = 0

    @property
    def are_wanted(self) -> bool:
        """Whether somebody has taken a slot in this round, which is always the case while others wait."""
        return self._taken > 0

    async def take(self) -> None:
        """Return when the caller has a slot: at once if one is left in this round."""
        loop = asyncio.get_running_loop()
        self.taken_at = loop.time()
        if self._waiting or self._taken >= (self._a_round or 1):
            slot = loop.create_future()
            self._waiting.append(slot)
            await slot
            return
        self._taken += 1
        if self._taken == 1:
            loop.call_soon(self._next_round)

    def _next_round(self) -> None:
        self._taken = 0
        for _ in range(min(len(self._waiting), self._a_round or max(1, len(self._waiting) // 5))):
            slot = self._waiting.popleft()
            self._taken += 1
            if not slot.done():  # done already if its client has left
                slot.set_result(None)
        if self._taken:
            asyncio.get_running_loop().call_soon(self._next_round)


class InPieces:
    """What an upstream sends, in pieces of bounded size. An upstream that sends faster than any model takes turns with
    others that do: together they get a few ms of each round of the event loop, however many they are."""

    def __init__(self, answer: Answer, slots: Slots) -> None:
        self._answer = answer
        self._reads = aiter(answer)
        self._slots = slots
        self._data = b""
        self._at = 0

    def __aiter__(self) -> "InPieces":
        return self

    @property
    def has_ended(self) -> bool:
        """Whether all of it was handed out and nothing more will come."""
        return self._at >= len(self._data) and self._answer.has_ended

    async def __anext__(self) -> bytes:
        if self._at >= len(self._data):
            self._data, self._at = await anext(self._reads), 0
        start, self._at = self._at, _end_of_piece(self._data, self._at)
        if len(self._data) > _SMALL_BYTES or self._at < len(self._data):
            await self._slots.take()
        return self._data[start : self._at]


def _end_of_piece(data: bytes, start: int) -> int:
    """The end of the piece that starts there; a piece with too many lines is halved until it has few enough."""
    end = min(start + _PIECE_BYTES, len(data))
    while end - start > _PIECE_LINES and data.count(b"\n", start, end) + data.count(b"\r", start, end) > _PIECE_LINES:
        end = (start + end) // 2
    return end
