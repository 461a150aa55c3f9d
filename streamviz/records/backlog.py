"""What waits for Postgres on this machine, and whether anything moves it: for the System panel, /readyz and the
logs."""

import logging
import time
from pathlib import Path
from typing import NamedTuple

from streamviz.environment import COMMAND
from streamviz.records.journal.folder import damaged, refused
from streamviz.records.journal.room import Limits, why_full
from streamviz.records.journal.usage import Usage, usage
from streamviz.records.writer.status import WriterStatus, is_running, writer_status

log = logging.getLogger(__name__)

# A running writer writes its status about every second, and has read everything in the journals as often.
HANG_SECONDS = 6.0
# A writer that has not read everything for this long cannot keep up; for less, it is only busy.
BEHIND_SECONDS = 30.0
TELL_SECONDS = 60.0
NOBODY = f"no writer is running; start `{COMMAND} write` (`up` starts one too)"


class Backlog(NamedTuple):
    """The journals of this machine. `size` is in bytes; `lag` is for how many seconds the writer has not had everything
    read, None if no writer ever ran. `trouble`, `upkeep` and `full` are clauses, empty if all is well.

    `waits` is for how many seconds, at most, entries have been in the journals unread, and `silent` for how many a
    running writer has not written its status. `status` is the writer's latest.
    """

    size: int
    lag: float | None
    is_moved: bool
    trouble: str
    upkeep: str
    full: str
    set_aside: int
    damaged: int
    waits: float
    silent: float
    status: WriterStatus | None = None

    @property
    def lag_microseconds(self) -> int | None:
        """The lag in the unit that pages show."""
        return None if self.lag is None else round(self.lag * 1_000_000)

    @property
    def stuck(self) -> str:
        """Why the journal is not moved, as a clause, whatever the writer's status says; empty if it is moved."""
        if not self.is_moved:
            return NOBODY
        if self.silent > HANG_SECONDS:
            return f"the writer has not responded for {self.silent:.0f} s; it may be hung, or waiting for a lock"
        if self.trouble and self.waits > HANG_SECONDS:
            return f"the writer cannot write to Postgres: data has waited for {self.waits:.0f} s"
        return f"the writer is behind: data has waited for {self.waits:.0f} s" if self.waits > BEHIND_SECONDS else ""


def backlog(root: Path, limits: Limits) -> Backlog:
    """The present backlog. Reads files, so it takes a millisecond or more."""
    status = writer_status(root)
    is_moved = is_running(root)
    try:
        used = usage(root)
    except OSError:  # `full` says why
        used = Usage(0, 0.0, 0.0)
    now = time.time()
    silent = max(0.0, now - status.at) if status and is_moved else 0.0
    caught_up_at = status.caught_up_at if status else 0.0
    told_at = status.at if status and is_moved and silent <= HANG_SECONDS else now
    return Backlog(
        size=used.size,
        lag=None if status is None else max(0.0, told_at - caught_up_at),
        is_moved=is_moved,
        trouble=status.trouble if status and is_moved else "",
        upkeep=status.upkeep if status and is_moved else "",
        full=why_full(root, limits) if root.is_dir() else "",
        set_aside=len(refused(root)),
        damaged=len(damaged(root)),
        waits=now - (caught_up_at or used.written_at) if used.written_at > caught_up_at else 0.0,
        silent=silent,
        status=status,
    )


class Watch:
    """Logs a journal that is not moved: at once, then every minute, and when it is moved again."""

    def __init__(self) -> None:
        self._told_at: float | None = None

    def look(self, found: Backlog) -> None:
        """Take in what was found just now."""
        now = time.monotonic()
        if not found.stuck:
            if self._told_at is not None:
                log.info("the journal is being emptied again")
            self._told_at = None
        elif self._told_at is None or now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            log.warning("the journal is not being emptied, %.1f MiB waiting: %s", found.size / 2**20, found.stuck)
