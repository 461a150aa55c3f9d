"""The time of day that never goes back."""

import time


class Clock:
    """µs since the epoch, on the monotonic clock, anchored to the wall clock once: when the object is made."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def now(self) -> int:
        return (self._offset + time.monotonic_ns()) // 1000
