"""The writer's loop: all journals of this machine, again and again."""

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

# A stream that ended is in Postgres about so long after;
POLL_SECONDS = 0.05
# or so long, where a round has read so many entries: a round's own cost is most of what few streams cost, so more of
# them are to share it.
BUSY_POLL_SECONDS = 0.2
BUSY_ENTRIES = 16
RETRY_SECONDS = 1.0
# A journal of which something is not understood is read again from its beginning, so not as soon.
ANEW_SECONDS = 60
_ATTEMPTS = 10
# What the upkeep gets to end, once the journals are stored.
UPKEEP_SECONDS = 5.0


class Writer:
    """Moves what the journals under `root` hold into Postgres."""

    def __init__(self, root: Path, conninfo: Callable[[], str]) -> None:
        self._root = root
        self._store = Store(conninfo)
        self._moving: dict[Path, Moving] = {}
        self._status = Status(root)
        self._unreadable: set[str] = set()
        # Those that failed for another reason, and until when (s, monotonic) they are left alone.
        self._put_off: dict[Path, float] = {}
        self._vitals = Vitals("writer")

    def run(self, stop: threading.Event, upkeep: Upkeep) -> None:
        """Move journals until `stop` is set and all that is in them is stored, with the tables' upkeep beside that.

        Raises Fault where another writer runs.
        """
        folder.make_private(self._root)
        with self._alone():
            upkeep.start(stop)
            while not stop.is_set():
                stop.wait(self._turn(upkeep.trouble))
            self.finish()
            upkeep.end(UPKEEP_SECONDS)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Whoever looks whether a writer runs holds its lock for an instant, hence more than one attempt."""
        for _ in range(_ATTEMPTS):
            with folder.open_locked(self._root / folder.WRITER_LOCK) as is_ours:
                if is_ours:
                    yield
                    return
            time.sleep(POLL_SECONDS)
        raise Fault(f"Another writer is already running on the journals in {self._root}.")

    def turn(self, everything: bool = False) -> int:
        """One round over all journals; gives how many entries were read. Raises psycopg.Error."""
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
        """A journal that cannot be read keeps no other from being moved."""
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
        """Store all that is in the journals by now, unless Postgres is away, and let go. What servers that go on record
        meanwhile is the next writer's: there may be no end of it."""
        try:
            while self.turn(everything=True) and any(moving.has_more for moving in self._moving.values()):
                pass
        except psycopg.Error as error:
            log.warning("Postgres cannot be written to; the rest stays in the journal: %s", error)
        for moving in self._moving.values():
            moving.close()
        self._moving.clear()
        self._store.close()

    def _turn(self, upkeep_trouble: str) -> float:
        """A round, and how many seconds to wait before the next."""
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
        # What comes meanwhile waits for the next round: many small ones would cost more than all that they store.
        return BUSY_POLL_SECONDS if read >= BUSY_ENTRIES else POLL_SECONDS
