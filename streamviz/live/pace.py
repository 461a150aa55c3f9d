"""Long work on the event loop, in short turns between which clients come first."""

import asyncio
from collections.abc import Iterable
from time import monotonic, thread_time
from typing import TypeVar

T = TypeVar("T")

# CPU time: a chunk that arrives during a turn waits no longer than this, as long as patience lasts.
_TURN_SECONDS = 0.003
# A round of the loop that takes less has served hardly anybody.
_CALM_SECONDS = 0.0005
# How long the rests may wait for calm in total: if it never comes, those who watch must not wait forever. After that, a
# rest is one round of the loop, and turns are longer.
_PATIENCE_SECONDS = 0.01
_IMPATIENT_TURN_SECONDS = 0.005


class Pace:
    """The pace of one piece of work, such as all that a tick renders. `spent` is the CPU time that it took (s)."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._patience = _PATIENCE_SECONDS
        self._turn = _TURN_SECONDS
        self._began_at = thread_time()

    async def rest(self) -> None:
        """Call this between two steps of the work: when a turn is over, it lets clients be served until none waits."""
        if thread_time() - self._began_at > self._turn:
            await self.give_way()

    async def give_way(self) -> None:
        """Let clients be served now."""
        self.spent += thread_time() - self._began_at
        while self._patience > 0:
            began_at = monotonic()
            # The first lets the loop read its sockets, the second lets those run that wait for what was read.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            took = monotonic() - began_at
            if took < _CALM_SECONDS:
                break
            self._patience -= took
        else:
            self._turn = _IMPATIENT_TURN_SECONDS
            await asyncio.sleep(0)
        self._began_at = thread_time()


async def paced(made: Iterable[T], pace: Pace) -> list[T]:
    """Collect all items, letting the event loop serve clients in between."""
    things = []
    for thing in made:
        things.append(thing)
        await pace.rest()
    return things
