"""Times in µs since the epoch: a clock that never goes back, and conversions to and from datetimes."""

import time
from datetime import UTC, date, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def as_datetime(microseconds: int) -> datetime:
    """The moment this many µs after the epoch."""
    return _EPOCH + microseconds * MICROSECOND


def as_microseconds(moment: datetime) -> int:
    """How many µs after the epoch a moment is."""
    return (moment - _EPOCH) // MICROSECOND


def midnight(day: date) -> datetime:
    """When a day begins, in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def since_boot() -> int:
    """ns on a clock that nobody sets and that, where the system has one, keeps running while the machine sleeps."""
    return time.clock_gettime_ns(_CLOCK)


class Clock:
    """µs since the epoch, anchored to the wall clock once, when the object is made; setting the wall clock does not
    affect it.

    Each stream has its own, so its times are in order and correctly spaced, while the next stream starts from what the
    wall clock says then.
    """

    def __init__(self) -> None:
        self._offset = time.time_ns() - since_boot()

    def now(self) -> int:
        return (self._offset + since_boot()) // 1000
