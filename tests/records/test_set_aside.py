"""Streams that were set aside are removed like those in Postgres: when deleted, and once they are too old."""

import os
import threading
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.journal.folder import DAMAGED, REFUSED, damaged, private_folder, refused
from streamviz.records.recorder import AnyEntry
from streamviz.records.retention import first_stream_kept
from streamviz.records.rules import Retention
from streamviz.records.set_aside import SetAside
from streamviz.records.upkeep import Upkeep
from streamviz.records.writer.pending import NO_WORKER, Batch
from streamviz.records.writer.refused import set_aside
from tests.records.conftest import Query
from tests.records.history import id_at, story
from tests.records.history import store as store_streams
from tests.records.support import closed, opened, received

NOW = datetime.now(UTC)


def left(root: Path, *, stream_days: int = 0) -> list[uuid.UUID]:
    """The streams that are still set aside after removing all that should go."""
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        SetAside(root).remove(connection, first_stream_kept(Retention(0, stream_days, 0), NOW))
    return [uuid.UUID(path.stem) for path in refused(root)]


def aside(root: Path, stream_id: uuid.UUID, *entries: AnyEntry) -> None:
    """Set these aside, as the writer does if Postgres refuses them."""
    batch = Batch(stream_id, NO_WORKER)
    for entry in entries:
        batch.add(entry)
    set_aside(root, batch, "odd")


def whole(stream_id: uuid.UUID, session: uuid.UUID) -> list[AnyEntry]:
    begun = opened(stream_id, session_id=session, requested_at=int(NOW.timestamp() * 1_000_000))
    return [begun, received(stream_id, [b"x"]), closed(stream_id)]


def test_a_stream_goes_with_its_session_though_nobody_had_stored_it(query: Query, tmp_path: Path) -> None:
    gone, stays, session = id_at(NOW), id_at(NOW, 1), uuid.uuid4()
    aside(tmp_path, gone, *whole(gone, session))
    aside(tmp_path, stays, *whole(stays, uuid.uuid4()))
    assert left(tmp_path) == [gone, stays]
    delete_session(session)
    assert left(tmp_path) == [stays]


def test_a_stream_that_was_looked_at_while_it_was_written_goes_with_its_session_too(
    query: Query, tmp_path: Path
) -> None:
    stream_id, session = id_at(NOW), uuid.uuid4()
    aside(tmp_path, stream_id, *whole(stream_id, session))
    [file] = refused(tmp_path)
    written = file.read_bytes()
    delete_session(session)
    kept = SetAside(tmp_path)
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        for part in (written[:20], written):
            file.write_bytes(part)
            assert refused(tmp_path) == [file]
            kept.remove(connection, None)
    assert refused(tmp_path) == []


def test_the_rest_of_a_stream_goes_with_its_session(query: Query, tmp_path: Path) -> None:
    [stream_id] = store_streams(story(NOW))
    aside(tmp_path, stream_id, received(stream_id, [b"x"]))
    assert left(tmp_path) == [stream_id]
    [(session,)] = query("SELECT session_id FROM records_stream")
    delete_session(session)
    assert left(tmp_path) == []


@pytest.mark.parametrize(("stream_days", "number"), [(0, 3), (5, 2), (1, 2)])
def test_a_stream_goes_once_its_days_are_over_and_what_is_stored_of_it_is_gone(
    query: Query, tmp_path: Path, stream_days: int, number: int
) -> None:
    [kept] = store_streams(story(NOW - timedelta(days=10)))
    query("UPDATE records_session SET is_starred = true")
    old, new = id_at(NOW - timedelta(days=10), 1), id_at(NOW)
    for each in (old, new, kept):
        aside(tmp_path, each, *whole(each, uuid.uuid4()))
    stay = left(tmp_path, stream_days=stream_days)
    assert len(stay) == number
    assert (old in stay, new in stay, kept in stay) == (not stream_days, True, True)


def test_a_damaged_segment_goes_once_its_days_are_over(query: Query, tmp_path: Path) -> None:
    for name, days in (("old.records", 10), ("new.records", 0)):
        file = private_folder(tmp_path / DAMAGED) / name
        file.write_bytes(b"x")
        at = (NOW - timedelta(days=days)).timestamp()
        os.utime(file, (at, at))
    left(tmp_path)
    assert len(damaged(tmp_path)) == 2
    left(tmp_path, stream_days=5)
    assert [path.name for path in damaged(tmp_path)] == ["new.records"]


def test_the_writers_upkeep_sees_to_it(query: Query, tmp_path: Path) -> None:
    old = id_at(NOW - timedelta(days=10))
    aside(tmp_path, old, *whole(old, uuid.uuid4()))
    upkeep = Upkeep(Retention(0, 5, 0), conninfo, None, SetAside(tmp_path))
    upkeep.round(threading.Event())
    assert (upkeep.trouble, refused(tmp_path)) == ("", [])


def test_what_does_not_begin_as_a_stream_does_is_kept(query: Query, tmp_path: Path) -> None:
    stream_id = id_at(NOW)
    (private_folder(tmp_path / REFUSED) / f"{stream_id}.segment").write_bytes(b"\xff" * 100)
    assert left(tmp_path, stream_days=1) == [stream_id]
