"""How the writer does, in a file beside the journals, for whoever asks in another process."""

import logging
import os
import time
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)

FILE = "writer.json"
_WRITE_SECONDS = 1.0


class WriterStatus(msgspec.Struct):
    """`caught_up_at` is when all that was in the journals had been read, `at` when this was written (s since the
    epoch); `trouble` is why nothing can be stored just now, empty where it can."""

    pid: int
    at: float
    caught_up_at: float
    trouble: str = ""


def writer_status(root: Path) -> WriterStatus | None:
    """What the writer last said; None where none ever ran, or the file cannot be read."""
    try:
        return msgspec.json.decode((root / FILE).read_bytes(), type=WriterStatus)
    except (OSError, msgspec.DecodeError):
        return None


class Status:
    """Keeps the file, about once a second."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._status = WriterStatus(os.getpid(), 0.0, time.time())

    def moved(self, read: int) -> None:
        """A round is done, in which so many entries were read."""
        now = time.time()
        if not read:
            self._status.caught_up_at = now
        if self._status.trouble:
            log.info("Postgres takes the record again")
        is_news = bool(self._status.trouble)
        self._status.trouble = ""
        if is_news or now - self._status.at >= _WRITE_SECONDS:
            self._save(now)

    def failed(self, why: str) -> None:
        """Nothing could be stored."""
        why = (why.strip() or "no reason given").splitlines()[0]
        if not self._status.trouble:
            log.warning("Postgres cannot be written to, streams are kept in the journal: %s", why)
        self._status.trouble = why
        self._save(time.time())

    def _save(self, now: float) -> None:
        self._status.at = now
        fresh = self._root / f".{FILE}"
        try:
            fresh.write_bytes(msgspec.json.encode(self._status))
            fresh.replace(self._root / FILE)
        except OSError as error:  # The disk is full: moving the journal is what makes room again.
            log.debug("the writer's status cannot be written: %s", error)
