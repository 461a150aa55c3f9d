"""A clock that tests set forward, so that what is due later is due now however busy the machine is."""

import asyncio


class Clock:
    """The clock of the running event loop, `ahead` by so many seconds."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ahead = 0.0
        self._time = loop.time
        loop.time = self._now  # type: ignore[method-assign]

    def _now(self) -> float:
        return self._time() + self.ahead

    async def pass_on(self, seconds: float) -> None:
        """Let so much time pass for all timers."""
        self.ahead += seconds
        for _ in range(3):  # the timers become due, are called, and whoever waits for them goes on
            await asyncio.sleep(0)
