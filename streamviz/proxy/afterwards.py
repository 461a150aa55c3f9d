"""The work left for calls that are over, for which no client waits."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from streamviz.proxy.slots import Slots

log = logging.getLogger(__name__)

# While requests come in, the work waits for a pause of this length, but no longer than the limit (s).
_PAUSE_SECONDS = 0.002
_LONGEST_SECONDS = 0.1
# How many pieces are done in one round at most: after about 1 ms, running streams must continue.
_MOST_A_ROUND = 8

Work = Callable[[], None]


class Afterwards:
    """Does the work between incoming requests, which are answered sooner that way: in each round of the event loop that
    one piece, or a few if many are waiting, so that running streams continue in between. Several in succession take a
    fraction of what each takes by itself: everything they share is in the processor's caches."""

    def __init__(self, slots: Slots) -> None:
        """`slots` are the ones that incoming requests take."""
        self._slots = slots
        self._waiting: deque[tuple[float, Work]] = deque()

    def add(self, work: Work) -> None:
        """Have this done soon."""
        loop = asyncio.get_running_loop()
        self._waiting.append((loop.time(), work))
        if len(self._waiting) == 1:
            loop.call_later(_PAUSE_SECONDS, self._look)

    def finish(self) -> None:
        """Do everything that is left."""
        while self._waiting:
            self._do_one()

    def _look(self) -> None:
        """Go on once streams have passed on what has just come for them: they wake up in the next round."""
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        has_paused = not self._slots.are_wanted and now - self._slots.taken_at >= _PAUSE_SECONDS
        for _ in range(min(_MOST_A_ROUND, max(1, len(self._waiting) // 10))):
            if not self._waiting:  # all of it was done meanwhile
                return
            if not has_paused and now - self._waiting[0][0] < _LONGEST_SECONDS:
                loop.call_later(_PAUSE_SECONDS, self._look)
                return
            self._do_one()
        if self._waiting:
            loop.call_later(0, self._look)  # after what came meanwhile, as timers are

    def _do_one(self) -> None:
        _, work = self._waiting.popleft()
        try:
            work()
        except Exception:  # The work for other streams goes on.
            log.exception("a stream's end could not be recorded")
