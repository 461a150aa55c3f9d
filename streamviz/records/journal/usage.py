"""How much space the journals of this machine take."""

import time
from pathlib import Path
from typing import NamedTuple

from streamviz.records.journal import folder


class Usage(NamedTuple):
    """What the journals take: bytes in all segments, how many seconds the oldest entry has waited, and when any segment
    was last written to (s since the epoch; 0 if never)."""

    size: int
    age: float
    written_at: float


def usage(root: Path) -> Usage:
    """Measure the journals under `root`.

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
