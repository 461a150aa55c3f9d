"""What a call's upstream sends: bounded pieces, taken in turns, read while the call does other things."""

import asyncio
from contextlib import suppress

from streamviz.proxy.slots import Slots
from streamviz.upstream.answer import Answer

# How much of a flood is taken in one slot: some 2 ms of work. Less at a time is not a flood. Each event is work,
# however short, and the shortest are empty lines.
_PIECE_BYTES = 16 * 1024
_PIECE_LINES = 512
_SMALL_BYTES = 4 * 1024


class Reads:
    """What an upstream sends, in pieces of bounded size. An upstream that sends faster than any model takes turns with
    others that do: together they get a few ms of each round of the event loop, however many they are.

    Iterating waits for each piece. A caller that has more to wait for begins the next read, and takes its piece later:
    `begun` is the read whose piece was not taken.
    """

    def __init__(self, answer: Answer, slots: Slots) -> None:
        self.answer = answer
        self._reads = aiter(answer)
        self._slots = slots
        self._data = b""
        self._at = 0
        self.begun: asyncio.Future[bytes] | None = None

    def __aiter__(self) -> "Reads":
        return self

    @property
    def has_ended(self) -> bool:
        """Whether all of it was handed out and nothing more will come."""
        return self._at >= len(self._data) and self.answer.has_ended

    async def __anext__(self) -> bytes:
        if self._at >= len(self._data):
            self._data, self._at = await anext(self._reads), 0
        start, self._at = self._at, _end_of_piece(self._data, self._at)
        if len(self._data) > _SMALL_BYTES or self._at < len(self._data):
            await self._slots.take()
        return self._data[start : self._at]

    def begin(self) -> "asyncio.Future[bytes]":
        """Begin the next read, if it has not begun. The future is done when `take` can be called."""
        if self.begun is None:
            self.begun = asyncio.ensure_future(anext(self))
        return self.begun

    def take(self) -> bytes | None:
        """The piece of the read that is done; None at the end. Raises the error that ended the read."""
        begun, self.begun = self.begun, None
        assert begun is not None
        with suppress(StopAsyncIteration):
            return begun.result()
        return None

    async def close(self) -> None:
        """Close the answer, even if it is being read, and even if the caller is cancelled meanwhile."""
        begun, self.begun = self.begun, None
        try:
            if begun is not None:
                begun.cancel()
                await asyncio.gather(begun, return_exceptions=True)
        finally:
            self.answer.close()


def _end_of_piece(data: bytes, start: int) -> int:
    """The end of the piece that starts there; a piece with too many lines is halved until it has few enough."""
    end = min(start + _PIECE_BYTES, len(data))
    while end - start > _PIECE_LINES and data.count(b"\n", start, end) + data.count(b"\r", start, end) > _PIECE_LINES:
        end = (start + end) // 2
    return end
