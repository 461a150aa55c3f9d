"""Move one worker's journal into Postgres."""

import logging
from pathlib import Path
from uuid import UUID

import psycopg

from streamviz.records.columns import as_array
from streamviz.records.journal import folder
from streamviz.records.journal.tail import Tail
from streamviz.records.writer import statements as sql
from streamviz.records.writer.pending import Batch, Pending
from streamviz.records.writer.recovery import end_of
from streamviz.records.writer.refused import is_refused, set_aside
from streamviz.records.writer.store import Store, open_streams

log = logging.getLogger(__name__)

# SQLSTATE classes of errors that are about a batch itself: its data, a constraint, a limit of Postgres, an internal
# error. Any other error means that nothing can be stored at the moment.
_REFUSALS = {"22", "23", "54", "XX"}


class Moving:
    """Reads a journal, stores what is due and removes what is stored; at the end closes the streams that its worker
    left open."""

    def __init__(self, journal: Path, store: Store) -> None:
        self.journal = journal
        self.worker = UUID(journal.name)
        self._store = store
        self._tail = Tail(journal)
        self._pending = Pending(self.worker)
        self._due: list[Batch] = []
        # Streams of which a batch was set aside here. Their later batches are set aside too: once those were stored,
        # the earlier one could not be stored any more.
        self._aside: set[UUID] = set()
        # Streams of which an earlier writer may have set something aside, possibly from this journal as well.
        self._aside_before = {UUID(path.stem) for path in folder.refused(journal.parent)}
        self.is_done = False
        # Whether the last call of `advance` left work that is known to end.
        self.has_more = False

    @property
    def is_behind(self) -> bool:
        """Whether the last call of `advance` left entries unread."""
        return self._tail.is_behind

    def advance(self, everything: bool) -> int:
        """Read some entries and store the batches that are due, or `everything`; gives how many entries were read.

        Raises psycopg.Error while Postgres accepts nothing; a later call stores what was read.
        """
        self.has_more = False
        self._write()
        is_abandoned = folder.is_abandoned(self.journal)
        entries = self._tail.read(is_abandoned)
        for entry in entries:
            self._pending.add(entry, self._tail.number)
        is_over = is_abandoned and not entries
        self.has_more = self.is_behind or (is_abandoned and not is_over)
        self._due = self._pending.take_due(everything or is_over)
        self._write()
        self._tail.remove_before(self._pending.oldest_segment(self._tail.number))
        if is_over:
            self._close_open_streams()
            self.close()
            self._tail.remove_before(self._tail.number + 1)
            folder.remove(self.journal)
            self.is_done = True
        return len(entries)

    def close(self) -> None:
        """Close the journal's file."""
        self._tail.close()

    def _write(self) -> None:
        for batch in [each for each in self._due if self._is_aside(each.stream_id)]:
            self._set_aside(batch, "part of it was set aside before")
            self._due.remove(batch)
        if self._due:
            self._write_all(self._due)
            self._due = []

    def _is_aside(self, stream_id: UUID) -> bool:
        """Whether an earlier part of the stream was set aside. What a previous writer set aside may have been handed
        back since; what is set aside meanwhile from another journal comes after what is here."""
        was_aside = stream_id in self._aside_before and is_refused(self.journal.parent, stream_id)
        return was_aside or stream_id in self._aside

    def _set_aside(self, batch: Batch, why: str) -> None:
        set_aside(self.journal.parent, batch, why)
        self._aside.add(batch.stream_id)

    def _write_all(self, batches: list[Batch], *, is_last_try: bool = False) -> None:
        try:
            unknown = self._store.write(batches)
        except Exception as error:  # a batch holds untrusted data, which the driver refuses in many ways
            if not _is_refusal(error):
                raise
            if is_last_try:
                self._set_aside(batches[0], _reason(error))
                return
            # Stream by stream, so that only the one at fault is set aside. Each is tried again: its failure may have
            # been a conflict with something concurrent, such as the connection of a dead writer.
            for batch in batches:
                self._write_all([batch], is_last_try=True)
            return
        for batch in unknown:
            self._set_aside(batch, "the beginning of the stream is not in the journal")

    def _close_open_streams(self) -> None:
        left = open_streams(self._store.connection, self.worker)
        for stream_id in left:
            if closed := end_of(self._store.connection, stream_id):
                self._write_all([Batch(stream_id, self.worker, closed=closed)])
        self._store.connection.execute(sql.STRIKE_LEFT, [self.worker, as_array(self._aside)])
        if left:
            log.warning("%d streams were open when their worker ended; closed where they stopped", len(left))


def _reason(error: Exception) -> str:
    """What went wrong, without the row in Postgres' error details, which models and clients wrote."""
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _is_refusal(error: Exception) -> bool:
    if not isinstance(error, psycopg.Error):
        return True
    return isinstance(error, psycopg.DataError) or (error.sqlstate or "")[:2] in _REFUSALS
