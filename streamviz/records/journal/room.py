"""Whether there is room for more in the journals of this machine."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from streamviz.records.journal import folder

# A disk counts as full before it is, so that streams that run by then can be recorded to their end.
RESERVE_BYTES = 16 * 1024 * 1024
_MEASURE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may wait for Postgres: bytes in all journals together, and seconds since the oldest was written.

    At a limit new streams are refused, or, when `refuses` is False, go on unrecorded.
    """

    most_bytes: int
    most_seconds: float
    refuses: bool


class Usage(NamedTuple):
    """What the journals take: bytes in all segments, for how many seconds the oldest has waited, and when any was last
    written to (s since the epoch, 0 where none was)."""

    size: int
    age: float
    written_at: float


class Room:
    """What the journals take, measured when asked for, about once a second."""

    def __init__(self, root: Path, limits: Limits) -> None:
        self.limits = limits
        self._root = root
        self._measured_at = float("-inf")
        self._why_full = ""

    def why_full(self) -> str:
        """Which limit is reached, as a clause; empty while there is room."""
        now = time.monotonic()
        if now - self._measured_at >= _MEASURE_SECONDS:
            self._measured_at = now
            self._why_full = why_full(self._root, self.limits)
        return self._why_full


def why_full(root: Path, limits: Limits) -> str:
    """Which limit the journals under `root` have reached, as a clause; empty while there is room."""
    size, age, _ = usage(root)
    if size > limits.most_bytes:
        return f"the journal takes {size >> 20} MiB"
    if age > limits.most_seconds:
        return f"the oldest in the journal waits since {age / 3600:.1f} hours"
    if shutil.disk_usage(root).free < RESERVE_BYTES:
        return "the journal's disk is full"
    return ""


def usage(root: Path) -> Usage:
    """What the journals under `root` take.

    A journal's newest segment has no age: a worker that is idle may keep one whose contents were stored long ago.
    """
    size, now, written_at = 0, time.time(), 0.0
    oldest = now
    for journal in folder.journals(root):
        *older, newest = folder.segments(journal) or [0]
        for number in (*older, newest):
            try:
                status = folder.segment(journal, number).stat()
            except FileNotFoundError:  # stored and removed meanwhile
                continue
            size += status.st_size
            written_at = max(written_at, status.st_mtime if status.st_size else 0.0)
            oldest = oldest if number == newest else min(oldest, status.st_mtime)
    return Usage(size, now - oldest, written_at)
