"""UUIDs that sort by the time at which they were made."""

import os
import time
import uuid

_DAY_MILLISECONDS = 86_400_000


def uuid7() -> uuid.UUID:
    """A UUID version 7 (RFC 9562, 5.7, 6.2): milliseconds since the epoch, 12 bits of their fraction, random bits."""
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    value = (milliseconds << 80) | (fraction << 64) | int.from_bytes(os.urandom(8), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return uuid.UUID(int=value)


def day_before(made: uuid.UUID) -> uuid.UUID:
    """An id of a day before this one: what came after it has a greater one, whoever's clock made that."""
    return uuid.UUID(int=max(made.int - (_DAY_MILLISECONDS << 80), 0))


def milliseconds_of(made: uuid.UUID) -> int:
    """When a UUID version 7 was made: milliseconds since the epoch."""
    return made.int >> 80
