"""Remove what was set aside beside the journals, namely refused streams and damaged segments, once Postgres would no
longer keep it."""

import logging
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import psycopg

from streamviz.records.journal.decoding import length_at, records_in
from streamviz.records.journal.encoding import HEADER
from streamviz.records.journal.folder import damaged, refused
from streamviz.records.partitions import day_of
from streamviz.records.recorder import StreamOpened

log = logging.getLogger(__name__)

# By the writer's own rules, as these files may be handed back to it. `requested` is in µs since the epoch.
DELETED = """
SELECT id FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[]) AS aside (id, session_id, requested)
WHERE EXISTS (SELECT FROM records_deletedstream WHERE stream_id = id)
OR EXISTS (
    SELECT FROM records_deletedsession AS gone
    WHERE gone.session_id = aside.session_id AND to_timestamp(requested / 1000000.0) <= gone.deleted_at
)
"""
STORED = "SELECT id FROM records_stream WHERE id = ANY(%s)"

_Told = tuple[UUID | None, int | None]
_NOTHING: _Told = (None, None)


class SetAside:
    """The files under `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # The session of each stream, and when it was requested (µs), once its file says so: it may be half written.
        self._told: dict[UUID, _Told] = {}

    def remove(self, connection: psycopg.Connection, first_kept: datetime | None) -> None:
        """Remove what was deleted, and everything from before `first_kept` except what Postgres keeps for longer; None
        means that everything is kept for ever. Raises psycopg.Error."""
        files = {UUID(path.stem): path for path in refused(self._root)}
        self._told = {each: self._told_of(each, path) for each, path in files.items()}
        gone = self._deleted(connection)
        if first_kept is not None:
            gone |= _expired(connection, files, first_kept)
            for path in damaged(self._root):
                if datetime.fromtimestamp(path.stat().st_mtime, UTC) < first_kept:
                    _remove(path)
        for stream_id in gone:
            _remove(files[stream_id])

    def _told_of(self, stream_id: UUID, path: Path) -> _Told:
        known = self._told.get(stream_id, _NOTHING)
        return _told_by(path) if known == _NOTHING else known

    def _deleted(self, connection: psycopg.Connection) -> set[UUID]:
        sessions, requested = [session for session, _ in self._told.values()], [at for _, at in self._told.values()]
        return {row[0] for row in connection.execute(DELETED, [list(self._told), sessions, requested])}


def _told_by(path: Path) -> _Told:
    with suppress(FileNotFoundError), path.open("rb") as file:  # handed back meanwhile
        length = length_at(file.read(HEADER.size), 0) or 0
        file.seek(0)
        entries, _ = records_in(file.read(length))
        if entries and isinstance(entries[0], StreamOpened):
            return entries[0].session_id, entries[0].requested_at
    return _NOTHING


def _expired(connection: psycopg.Connection, ids: Collection[UUID], first_kept: datetime) -> set[UUID]:
    old = {each for each in ids if (day := day_of(each)) is not None and day < first_kept.date()}
    return old - {row[0] for row in connection.execute(STORED, [list(old)])}


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    log.info("removed %s: its streams were deleted, or are no longer kept", path)
