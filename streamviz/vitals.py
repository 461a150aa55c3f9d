"""How a process is doing: that it runs, what it uses, and how late its event loop is."""

import asyncio
import os
import time
from collections.abc import Callable

import psutil

from streamviz import figures

_LOOK_SECONDS = 0.5
_LAGS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)

_running = figures.gauge("processes", "Running processes", "process")
_resident = figures.gauge("process_resident_bytes", "Memory used by processes", "process")
_cpu = figures.counter("process_cpu_seconds", "CPU time used by processes", "process")
_lag = figures.histogram("loop_lag_seconds", "How late event loops run", _LAGS, "process")


class Vitals:
    """The vitals of this process: a `server`, the `screens` of one, or the `writer`. `lag` is how late (s) its event
    loop was the last time it was measured."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._taken = 0.0
        self._looked_at = float("-inf")
        self._itself = psutil.Process(os.getpid())
        self.lag = 0.0
        _running.labels(process).set(1)

    def look(self) -> None:
        """Note what it uses now, at most a few times a second."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS / 2:
            return
        self._looked_at = time.monotonic()
        taken = time.process_time()
        _cpu.labels(self._process).inc(taken - self._taken)
        self._taken = taken
        _resident.labels(self._process).set(self._itself.memory_info().rss)

    async def watch(self, look: Callable[[], None]) -> None:
        """Look, and call `look` too, twice a second until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _LOOK_SECONDS
            await asyncio.sleep(_LOOK_SECONDS)
            self.lag = max(0.0, loop.time() - due)
            _lag.labels(self._process).observe(self.lag)
            self.look()
            look()
