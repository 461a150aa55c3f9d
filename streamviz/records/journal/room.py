"""Whether the journals of this machine have room for more."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from streamviz.records.journal.usage import usage

# A disk counts as full this many bytes early, so that streams already running can be recorded to their end.
RESERVE_BYTES = 16 * 1024 * 1024
_MEASURE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may wait for Postgres: bytes in all journals together, and seconds since the oldest entry was written.

    At a limit, new streams are refused or, if `refuses` is False, continue unrecorded.
    """

    most_bytes: int
    most_seconds: float
    refuses: bool


class Room:
    """Which limit the journals have reached; measured on demand, at most about once a second."""

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
    """Which limit the journals under `root` have reached, or that they cannot be read, as a clause; empty while there
    is room."""
    try:
        return _why_full(root, limits)
    except OSError as error:  # the disk is broken
        return f"the journal cannot be read ({error.strerror})"


def _why_full(root: Path, limits: Limits) -> str:
    size, age, _ = usage(root)
    if size > limits.most_bytes:
        return f"the journal takes {size >> 20} MiB"
    if age > limits.most_seconds:
        return f"the oldest entry in the journal has waited for {age / 3600:.1f} hours"
    if shutil.disk_usage(root).free < RESERVE_BYTES:
        return "the journal's disk is full"
    return ""
