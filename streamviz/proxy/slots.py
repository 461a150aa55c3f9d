"""What arrives at the same time is done a few at a time, and running streams continue in between."""

import asyncio
from collections import deque


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
