"""Long work in the event loop, in short steps."""

import asyncio
from time import thread_time

# Of CPU time: while streams keep the loop busy each rest is as long as a turn of theirs.
_MOST_SECONDS = 0.005


class Pace:
    """Lets the loop serve clients whenever a few milliseconds were taken."""

    def __init__(self) -> None:
        self._began_at = thread_time()

    async def rest(self) -> None:
        """Between two pieces of the work."""
        if thread_time() - self._began_at > _MOST_SECONDS:
            await asyncio.sleep(0)
            self._began_at = thread_time()
