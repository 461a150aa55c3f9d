"""Times in µs since the epoch: a clock that never goes back, and how Django and Postgres have them."""

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def as_datetime(microseconds: int) -> datetime:
    """The moment that is so many µs after the epoch."""
    return _EPOCH + microseconds * MICROSECOND


def as_microseconds(moment: datetime) -> int:
    """How many µs after the epoch a moment is."""
    return (moment - _EPOCH) // MICROSECOND


def since_boot() -> int:
    """ns on a clock that nobody sets and that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime_ns(_CLOCK)


class Clock:
    """µs since the epoch, anchored to the wall clock once, when the object is made, and not set by anybody since.

    Each stream has its own: its times are in order and as far apart as they were, and the next stream has what the wall
    clock says by then.
    """

    def __init__(self) -> None:
        self._offset = time.time_ns() - since_boot()

    def now(self) -> int:
        return (self._offset + since_boot()) // 1000
