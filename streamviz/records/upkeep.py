"""What the writer sees to beside its work: half hours put together, partitions made ahead, and retention once a day."""

import logging
import threading
import time
from datetime import UTC, datetime

import psycopg
from django.db import DatabaseError, connections

from streamviz.records.half_hours import put_together
from streamviz.records.partitions import days_around, make_days
from streamviz.records.retention import is_due, run_retention
from streamviz.records.rules import Retention

log = logging.getLogger(__name__)

_LOOK_SECONDS = 3600.0
# Until then figures are added up from a row for each stream that ended.
_PUT_TOGETHER_SECONDS = 300.0


class Upkeep:
    """Does what is due, now and then. What takes long is done in a thread, so that the journal goes on being moved."""

    def __init__(self, retention: Retention, stop: threading.Event) -> None:
        self._retention = retention
        self._stop = stop
        self._looked_at = float("-inf")
        self._put_together_at = float("-inf")
        self._running: threading.Thread | None = None

    def tend(self, connection: psycopg.Connection) -> None:
        """Called often; costs nothing while nothing is due. Raises psycopg.Error."""
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_SECONDS:
            make_days(connection, days_around(datetime.now(UTC)))
            self._looked_at = now
            self._start_retention()
        if now - self._put_together_at >= _PUT_TOGETHER_SECONDS:
            # Nothing is lost where it fails, so it is not tried again at once, in the journal's way.
            self._put_together_at = now
            put_together(connection)

    def _start_retention(self) -> None:
        if self._running is None or not self._running.is_alive():
            self._running = threading.Thread(target=self._retain, name="retention")
            self._running.start()

    def end(self) -> None:
        """Wait for what is under way; it is told to stop by the event."""
        if self._running is not None:
            self._running.join()

    def _retain(self) -> None:
        try:
            now = datetime.now(UTC)
            if is_due(now):
                run_retention(self._retention, now, log.info, self._stop.is_set)
        except DatabaseError as error:  # It is tried again in an hour.
            log.warning("retention could not be applied: %s", error)
        finally:
            connections.close_all()
