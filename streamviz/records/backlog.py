"""What waits for Postgres on this machine, and whether anybody moves it: for the System panel, /readyz and the logs."""

import time
from pathlib import Path
from typing import NamedTuple

from streamviz.records.journal.room import Limits, usage, why_full
from streamviz.records.writer.process import is_running
from streamviz.records.writer.refused import refused
from streamviz.records.writer.status import writer_status


class Backlog(NamedTuple):
    """The journals of this machine. `size` is in bytes; `lag` is for how many seconds the writer has not had everything
    read, None where there never was one. `trouble` and `full` are clauses, empty where all is well."""

    size: int
    lag: float | None
    is_moved: bool
    trouble: str
    full: str
    set_aside: int

    @property
    def lag_microseconds(self) -> int | None:
        """The lag, as pages show times."""
        return None if self.lag is None else round(self.lag * 1_000_000)


def backlog(root: Path, limits: Limits) -> Backlog:
    """Looks into the files, so it takes a millisecond or some more."""
    status = writer_status(root)
    is_moved = is_running(root)
    return Backlog(
        size=usage(root).size,
        lag=None if status is None else max(0.0, (status.at if is_moved else time.time()) - status.caught_up_at),
        is_moved=is_moved,
        trouble=status.trouble if status and is_moved else "",
        full=why_full(root, limits) if root.is_dir() else "",
        set_aside=len(refused(root)),
    )
