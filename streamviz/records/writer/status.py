"""The writer's status, in a file beside the journals, for other processes to read."""

import logging
import os
import time
from pathlib import Path

import msgspec

from streamviz.records.journal.folder import WRITER_LOCK, WRITER_STATUS, open_locked
from streamviz.records.journal.usage import usage
from streamviz.version import version

log = logging.getLogger(__name__)

_WRITE_SECONDS = 1.0
# A writer that is this far behind logs it, and logs it again at this interval.
LAG_SECONDS = 10.0
TELL_SECONDS = 60.0


class WriterStatus(msgspec.Struct):
    """All that was in the journals at `caught_up_at` has been read; `at` is when this was written (s since the epoch).
    `trouble` is why nothing can be stored at the moment, `upkeep` why table maintenance failed; both are empty if all
    is well. `began_at` is when the writer started (s since the epoch)."""

    pid: int
    at: float
    caught_up_at: float
    trouble: str = ""
    upkeep: str = ""
    began_at: float = 0.0
    version: str = ""


def writer_status(root: Path) -> WriterStatus | None:
    """The writer's latest status; None if no writer ever ran or the file cannot be read."""
    try:
        return msgspec.json.decode((root / WRITER_STATUS).read_bytes(), type=WriterStatus)
    except (OSError, msgspec.DecodeError):
        return None


def is_running(root: Path) -> bool:
    """Whether a writer is running on the journals under `root`."""
    try:
        with open_locked(root / WRITER_LOCK) as is_ours:
            return not is_ours
    except OSError:
        return False


class Status:
    """Keeps the status file up to date, about once a second."""

    def __init__(self, root: Path) -> None:
        self._root = root
        now = time.time()
        self._status = WriterStatus(os.getpid(), 0.0, now, began_at=now, version=version())
        self._told_at: float | None = None
        self._saved_at = float("-inf")

    def moved(self, began: float, is_behind: bool) -> None:
        """Note a finished round that began at `began` (s since the epoch); `is_behind` if it left something to read."""
        now = time.time()
        if not is_behind:
            self._status.caught_up_at = began
        self._tell_lag(now)
        if self._status.trouble:
            log.info("Postgres can be written to again")
        is_news = bool(self._status.trouble)
        self._status.trouble = ""
        if is_news or time.monotonic() - self._saved_at >= _WRITE_SECONDS:
            self._save(now)

    def upkeep(self, trouble: str) -> None:
        """Note why table maintenance failed, as a clause; it is written with the next round's status."""
        self._status.upkeep = trouble

    def failed(self, why: str) -> None:
        """Note that nothing could be stored."""
        why = (why.strip() or "no reason given").splitlines()[0]
        if not self._status.trouble:
            log.warning("Postgres cannot be written to; streams are kept in the journal: %s", why)
        self._status.trouble = why
        self._tell_lag(time.time())
        self._save(time.time())

    def _tell_lag(self, now: float) -> None:
        lag = now - self._status.caught_up_at
        if lag < LAG_SECONDS:
            if self._told_at is not None:
                log.info("the writer has caught up")
            self._told_at = None
        elif self._told_at is None or time.monotonic() - self._told_at >= TELL_SECONDS:
            self._told_at = time.monotonic()
            log.warning(
                "the writer is %.0f s behind; %.1f MiB are waiting in the journal", lag, usage(self._root).size / 2**20
            )

    def _save(self, now: float) -> None:
        # On the monotonic clock, as the wall clock may be set back by hours.
        self._saved_at = time.monotonic()
        self._status.at = now
        fresh = self._root / f".{WRITER_STATUS}"
        try:
            fresh.touch(0o600)
            fresh.write_bytes(msgspec.json.encode(self._status))
            fresh.replace(self._root / WRITER_STATUS)
        except OSError as error:  # the disk is full; moving the journal is what makes room again
            log.debug("the writer's status cannot be written: %s", error)
