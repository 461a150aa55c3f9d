"""The writer's maintenance tasks: merging half hours and tallies, creating partitions ahead, daily retention, the
archive, what was set aside, and the words of requests that were stored before these could be searched."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from uuid import UUID

import psycopg
from django.db import DatabaseError, connections

from streamviz.records import half_hours, metrics, tally_rows
from streamviz.records.archive.bucket import ChunksAway, bucket_of
from streamviz.records.archive.moving import Archiving, first_kept
from streamviz.records.archive.statements import STALE
from streamviz.records.moments import as_datetime, since_boot
from streamviz.records.partitions import RUNS, STREAMS, analyse, days_around, days_left_out, make_days
from streamviz.records.request_index import FIRST, fill_in
from streamviz.records.retention import first_stream_kept, is_due, run_retention
from streamviz.records.rules import Archive, Retention
from streamviz.records.set_aside import SetAside

log = logging.getLogger(__name__)

EVERY_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 5.0
# Retention may block whoever stores chunks for some seconds, so it is not retried as soon.
RETENTION_SECONDS = 3600.0
# The pause between batches of requests that are read for their words: the journal comes first.
BREATH_SECONDS = 0.1


class Upkeep:
    """Does what is due, in its own thread and on its own connections, while the journal continues to be moved.

    `trouble` says why something failed, as a clause; empty if nothing did. Failed tasks are retried after a growing
    pause.
    """

    def __init__(
        self,
        retention: Retention,
        conninfo: Callable[[], str],
        archive: Archive | None = None,
        set_aside: SetAside | None = None,
    ) -> None:
        self.trouble = ""
        self._set_aside = set_aside
        self._retention = retention
        self._archive = archive
        self._conninfo = conninfo
        self._pause = FIRST_PAUSE_SECONDS
        self._retained_at = float("-inf")
        # Dropped data cannot be restored, so a clock that jumps ahead while this runs is not trusted.
        self._clock_offset = time.time_ns() - since_boot()
        # The words of requests are filled in after this stream; None once all have theirs.
        self._filled: UUID | None = FIRST
        self._thread: threading.Thread | None = None

    def start(self, stop: threading.Event) -> None:
        """Run in a thread until `stop` is set."""
        self._thread = threading.Thread(target=self._run, args=(stop,), name="upkeep", daemon=True)
        self._thread.start()

    def end(self, seconds: float) -> None:
        """Wait at most this long for a task in progress; Postgres rolls back what is left unfinished."""
        if self._thread is not None:
            self._thread.join(seconds)

    def round(self, stop: threading.Event) -> float:
        """Do all that is due, and give how many seconds to wait before the next round."""
        steps: list[Callable[[], None]] = [self._make_days, self._put_together]
        if time.monotonic() - self._retained_at >= RETENTION_SECONDS:
            self._retained_at = time.monotonic()
            steps.append(partial(self._retain, stop))
        steps += [
            self._clear_set_aside,
            self._analyse,
            partial(self._see_to_archive, stop),
            partial(self._fill_in, stop),
        ]
        troubles = [why for step in steps if (why := self._tried(step))]
        self._tell("; ".join(dict.fromkeys(troubles)))  # while Postgres is away, each step says the same
        self._pause = min(2 * self._pause, EVERY_SECONDS) if troubles else FIRST_PAUSE_SECONDS
        return self._pause if troubles else EVERY_SECONDS

    def now(self) -> datetime:
        """The time that retention uses."""
        return as_datetime(min(time.time_ns(), self._clock_offset + since_boot()) // 1000)

    def _run(self, stop: threading.Event) -> None:
        pause = 0.0
        while not stop.wait(pause):
            pause = self.round(stop)

    def _tried(self, step: Callable[[], None]) -> str:
        """Why the step failed; empty if it did not."""
        try:
            step()
        except (psycopg.Error, DatabaseError, ChunksAway) as error:
            return (str(error).strip() or type(error).__name__).splitlines()[0]
        except Exception as error:  # the thread goes on: no step may keep the others from being done
            log.exception("table maintenance failed")
            return type(error).__name__
        return ""

    def _tell(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("table maintenance failed, retrying: %s", trouble)
        elif self.trouble and not trouble:
            log.info("table maintenance works again")
        self.trouble = trouble

    def _make_days(self) -> None:
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            now = datetime.now(UTC)
            for tables, kept in ((RUNS, self._retention.days_of_chunks), (STREAMS, self._retention.stream_days)):
                # Rows of earlier days are in the default partition because they outlive their days.
                since = (now - timedelta(days=kept)).date() if kept else date(1970, 1, 1)
                make_days(connection, days_around(now) | days_left_out(connection, tables, since), tables)

    def _put_together(self) -> None:
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            half_hours.put_together(connection)
            tally_rows.put_together(connection)

    def _analyse(self) -> None:
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            analyse(connection)

    def _see_to_archive(self, stop: threading.Event) -> None:
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            if self._archive is not None:
                archiving = Archiving(connection, bucket_of(self._archive), stop.is_set)
                _archive(archiving, first_kept(self.now(), self._archive.after_days))
            elif connection.execute(STALE).fetchone():
                raise ChunksAway("chunks of deleted streams are in the archive, and ARCHIVE_URL is not set")

    def _fill_in(self, stop: threading.Event) -> None:
        """A batch at a time, each committed by itself, so that a restart does not repeat what was done."""
        if self._filled is None:
            return
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            while self._filled is not None and not stop.wait(0 if self._filled == FIRST else BREATH_SECONDS):
                self._filled = fill_in(connection, self._filled)

    def _retain(self, stop: threading.Event) -> None:
        try:
            now = self.now()
            if is_due(now):
                run_retention(self._retention, now, log.info, stop.is_set)
        finally:
            connections.close_all()

    def _clear_set_aside(self) -> None:
        if self._set_aside is None:
            return
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            self._set_aside.remove(connection, first_stream_kept(self._retention, self.now()))


def _archive(archiving: Archiving, before: date) -> None:
    try:
        archiving.round(before)
    except Exception:
        metrics.archiving_failed()
        raise
    finally:
        with suppress(psycopg.Error):
            metrics.look_behind(archiving.behind(before))
