"""A clock that tests set forward, so that timers are due at once, however busy the machine is."""

import asyncio


class Clock:
    """The clock of the running event loop, `ahead` seconds fast."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ahead = 0.0
        self._time = loop.time
        loop.time = self._now  # type: ignore[method-assign]

    def _now(self) -> float:
        return self._time() + self.ahead

    async def pass_on(self, seconds: float) -> None:
        """Let this much time pass for all timers."""
        self.ahead += seconds
        for _ in range(3):  # timers become due, are called, and wake up what waits for them
            await asyncio.sleep(0)
