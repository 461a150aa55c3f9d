"""Long work in the event loop, in short steps."""

import asyncio
from time import perf_counter

_MOST_SECONDS = 0.001


class Pace:
    """Lets the loop serve clients whenever a step has taken a millisecond."""

    def __init__(self) -> None:
        self._began_at = perf_counter()

    async def rest(self) -> None:
        """Between two pieces of the work."""
        if perf_counter() - self._began_at > _MOST_SECONDS:
            await asyncio.sleep(0)
            self._began_at = perf_counter()
