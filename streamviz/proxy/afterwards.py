"""What is left to do for calls that are over, and that no client waits for."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from streamviz.proxy.turns import Turns

log = logging.getLogger(__name__)

# While requests come in, it waits for a pause of this length, though no longer than that (s).
_PAUSE_SECONDS = 0.002
_LONGEST_SECONDS = 0.02
# Of what is due so much is done at once: streams under way go on after some ms.
_AT_ONCE = 8

Work = Callable[[], None]


class Afterwards:
    """Does it behind the requests that come in, which are answered sooner for that. Several streams' in a row take a
    fraction of what each takes by itself, as the processor has at hand what all of them need."""

    def __init__(self, turns: Turns) -> None:
        """`turns` are those that requests take as they come in."""
        self._turns = turns
        self._waiting: deque[tuple[float, Work]] = deque()

    def add(self, work: Work) -> None:
        """Have this done soon."""
        loop = asyncio.get_running_loop()
        self._waiting.append((loop.time(), work))
        if len(self._waiting) == 1:
            loop.call_later(_PAUSE_SECONDS, self._look)

    def finish(self) -> None:
        """Do all that is left."""
        while self._waiting:
            self._do_one()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        has_paused = not self._turns.are_wanted and now - self._turns.taken_at >= _PAUSE_SECONDS
        for _ in range(_AT_ONCE):
            if not self._waiting:
                return
            if not has_paused and now - self._waiting[0][0] < _LONGEST_SECONDS:
                loop.call_later(_PAUSE_SECONDS, self._look)
                return
            self._do_one()
        if self._waiting:
            loop.call_soon(self._look)

    def _do_one(self) -> None:
        _, work = self._waiting.popleft()
        try:
            work()
        except Exception:  # The others' are done all the same.
            log.exception("a stream's end could not be recorded")
