"""UUIDs that sort by the time at which they were made."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """A UUID version 7 (RFC 9562, 5.7, 6.2): milliseconds since the epoch, 12 bits of their fraction, random bits."""
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    value = (milliseconds << 80) | (fraction << 64) | int.from_bytes(os.urandom(8), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return uuid.UUID(int=value)


def milliseconds_of(made: uuid.UUID) -> int:
    """When a UUID version 7 was made: milliseconds since the epoch."""
    return made.int >> 80
