"""The writer's loop: goes through all journals of this machine, again and again."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from streamviz.faults import Fault
from streamviz.records import metrics
from streamviz.records.journal import folder
from streamviz.records.upkeep import Upkeep
from streamviz.records.writer.moving import Moving
from streamviz.records.writer.status import Status
from streamviz.records.writer.store import Store
from streamviz.vitals import Vitals

log = logging.getLogger(__name__)

# The pause between rounds, and so roughly how long after its end a stream is in Postgres.
POLL_SECONDS = 0.05
# The pause once a round has read BUSY_ENTRIES: with few streams most of the cost is the round's own, so more entries
# should share it.
BUSY_POLL_SECONDS = 0.2
BUSY_ENTRIES = 16
RETRY_SECONDS = 1.0
# A journal that caused an unexpected error is read again from its beginning, so not as soon.
ANEW_SECONDS = 60
_ATTEMPTS = 10
# How long the upkeep may take to end once the journals are stored.
UPKEEP_SECONDS = 5.0


class Writer:
    """Moves the entries of the journals under `root` into Postgres."""

    def __init__(self, root: Path, conninfo: Callable[[], str]) -> None:
        self._root = root
        self._store = Store(conninfo)
        self._moving: dict[Path, Moving] = {}
        self._status = Status(root)
        self._unreadable: set[str] = set()
        # Journals that failed for another reason, and until when (s, monotonic) they are left alone.
        self._put_off: dict[Path, float] = {}
        self._vitals = Vitals("writer")

    def run(self, stop: threading.Event, upkeep: Upkeep) -> None:
        """Move journals until `stop` is set and everything in them is stored, with the upkeep of the tables alongside.

        Raises Fault if another writer is running.
        """
        folder.make_private(self._root)
        with self._alone():
            upkeep.start(stop)
            while not stop.is_set():
                stop.wait(self._round(upkeep.trouble))
            self.finish()
            upkeep.end(UPKEEP_SECONDS)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the writer's lock. Checking whether a writer runs takes it for an instant, hence several attempts."""
        for _ in range(_ATTEMPTS):
            with folder.open_locked(self._root / folder.WRITER_LOCK) as is_ours:
                if is_ours:
                    yield
                    return
            time.sleep(POLL_SECONDS)
        raise Fault(f"Another writer is already running on the journals in {self._root}.")

    def turn(self, everything: bool = False) -> int:
        """Go through all journals once; gives how many entries were read. Raises psycopg.Error."""
        journals = folder.journals(self._root)
        self._put_off = {journal: until for journal, until in self._put_off.items() if journal in journals}
        for journal in journals:
            if journal not in self._moving and not self._is_put_off(journal):
                self._moving[journal] = Moving(journal, self._store)
        read = sum(self._advance(moving, everything) for moving in self._moving.values())
        self._moving = {
            journal: moving
            for journal, moving in self._moving.items()
            if not (moving.is_done or self._is_put_off(journal))
        }
        return read

    def _advance(self, moving: Moving, everything: bool) -> int:
        """Advance one journal; a journal that cannot be read does not hold up the others."""
        name = moving.journal.name
        try:
            read = moving.advance(everything)
        except OSError as error:
            if name not in self._unreadable:
                log.error("journal %s cannot be read: %s", name, error)
            self._unreadable.add(name)
            return 0
        except psycopg.Error:
            raise
        except Exception:
            log.exception("journal %s cannot be moved; it is read anew in %d s", name, ANEW_SECONDS)
            moving.close()
            self._put_off[moving.journal] = time.monotonic() + ANEW_SECONDS
            return 0
        self._unreadable.discard(name)
        self._put_off.pop(moving.journal, None)
        return read

    def _is_put_off(self, journal: Path) -> bool:
        return self._put_off.get(journal, 0.0) > time.monotonic()

    def finish(self) -> None:
        """Store everything that is in the journals now, unless Postgres is away, and close them. What servers that keep
        running record meanwhile is left to the next writer, as it might never end."""
        try:
            while self.turn(everything=True) and any(moving.has_more for moving in self._moving.values()):
                pass
        except psycopg.Error as error:
            log.warning("Postgres cannot be written to; the rest stays in the journal: %s", error)
        for moving in self._moving.values():
            moving.close()
        self._moving.clear()
        self._store.close()

    def _round(self, upkeep_trouble: str) -> float:
        """Do one round; gives how many seconds to wait before the next."""
        self._status.upkeep(upkeep_trouble)
        self._vitals.look()
        began = time.time()
        try:
            read = self.turn()
            metrics.moved(read, time.time() - began)
        except (psycopg.Error, OSError) as error:
            metrics.failed()
            self._status.failed(str(error))
            self._store.close()
            return RETRY_SECONDS
        is_behind = any(moving.is_behind for moving in self._moving.values())
        self._status.moved(began, is_behind or bool(self._unreadable or self._put_off))
        if is_behind:
            return 0.0
        # What arrives meanwhile waits for the next round: many small rounds would cost more than what they store.
        return BUSY_POLL_SECONDS if read >= BUSY_ENTRIES else POLL_SECONDS
