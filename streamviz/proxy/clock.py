"""The time of day that never goes back."""

import time

from streamviz.records.moments import since_boot


class Clock:
    """µs since the epoch, anchored to the wall clock once, when the object is made, and not set by anybody since.

    Each stream has its own: its times are in order and as far apart as they were, and the next stream has what the wall
    clock says by then.
    """

    def __init__(self) -> None:
        self._offset = time.time_ns() - since_boot()

    def now(self) -> int:
        return (self._offset + since_boot()) // 1000
