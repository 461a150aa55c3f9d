"""Turns: of requests that come at once some begin before others, and streams under way go on between them."""

import asyncio
from collections import deque


class Turns:
    """Gives some turns in each round of the event loop, to those who have waited longest.

    To begin a stream takes a hundred times as long as to pass a chunk on. Were all that come together begun in one
    round, no running stream would get on meanwhile, and the first of them would be answered no sooner than the last.
    Were it one a round, many would wait long for the last on a machine that is busy: hence a quarter of them.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def take(self) -> None:
        """Return when it is the caller's turn: at once where nobody has had one in this round."""
        loop = asyncio.get_running_loop()
        if self._is_taken:
            turn = loop.create_future()
            self._waiting.append(turn)
            await turn
        else:
            self._is_taken = True
            loop.call_soon(self._next_round)

    def _next_round(self) -> None:
        self._is_taken = bool(self._waiting)
        for _ in range((len(self._waiting) + 3) // 4):
            turn = self._waiting.popleft()
            if not turn.done():  # as it is where its client has left
                turn.set_result(None)
        if self._is_taken:
            asyncio.get_running_loop().call_soon(self._next_round)
