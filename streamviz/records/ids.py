"""UUIDs that sort by the time at which they were made, and ranges of them."""

import os
import re
import time
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from streamviz.records.moments import as_microseconds

DAY_MILLISECONDS = 86_400_000
_TIMELESS_BITS = 80
_GREATEST = (1 << 128) - 1
# More than the clocks of several machines differ, or one clock before and after it is set.
_LEEWAY = timedelta(days=1)
_SHORT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}", re.IGNORECASE)


class Span(NamedTuple):
    """The first and the last id of a range, both included; only partitions of streams that overlap it are read."""

    first: uuid.UUID
    last: uuid.UUID


ALL = Span(uuid.UUID(int=0), uuid.UUID(int=_GREATEST))


def uuid7() -> uuid.UUID:
    """A UUID version 7 (RFC 9562, 5.7, 6.2): milliseconds since the epoch, 12 bits of their fraction, random bits."""
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") >> 2
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | random)


def day_before(made: uuid.UUID) -> uuid.UUID:
    """An id from one day earlier: whatever came after this id has a greater one, whichever clock made that."""
    return days_from(made, -1)


def days_from(made: uuid.UUID, days: int) -> uuid.UUID:
    """An id of this many days later, or earlier if negative."""
    return uuid.UUID(int=min(max(made.int + (days * DAY_MILLISECONDS << _TIMELESS_BITS), 0), _GREATEST))


def around(ids: Collection[uuid.UUID], days: int = 1) -> Span:
    """The range of ids from this many days before the first of these to one day after the last."""
    return Span(days_from(min(ids), -days), days_from(max(ids), 1))


def between(since: datetime, until: datetime) -> Span:
    """The ids of streams requested from `since` to `until`, with leeway for differing clocks."""
    return Span(first_id(since - _LEEWAY), first_id(until + _LEEWAY))


def first_id(at: datetime) -> uuid.UUID:
    """The lowest id that can be made at this time."""
    return uuid.UUID(int=max(as_microseconds(at) // 1000, 0) << _TIMELESS_BITS)


def beginning_with(short: str) -> Span | None:
    """The ids that begin with a short one, as pages show them: those of a millisecond. None if it is no short id."""
    if not _SHORT.fullmatch(short):
        return None
    first = int(short.replace("-", ""), 16) << _TIMELESS_BITS
    return Span(uuid.UUID(int=first), uuid.UUID(int=first | (1 << _TIMELESS_BITS) - 1))


def milliseconds_of(made: uuid.UUID) -> int:
    """When a UUID version 7 was made, in milliseconds since the epoch."""
    return made.int >> _TIMELESS_BITS
