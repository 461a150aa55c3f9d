"""What enters the archive and what leaves it, as seen in the storage and in the tables."""

from collections.abc import Callable
from datetime import date
from uuid import UUID

import psycopg
import pytest

from streamviz.records.archive import moving
from streamviz.records.archive.bucket import Bucket, ChunksAway
from streamviz.records.archive.moving import Moved
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.dropping import drop, partitions_before
from streamviz.records.models import ArchivedPart, ArchiveObject, Session, Stream
from streamviz.records.partitions import make_days
from streamviz.records.retention import Retaining
from streamviz.records.rules import Retention
from streamviz.records.tapes import upstream_bytes
from streamviz.records.writer import store as writer_store
from tests.core.support import delta, sse
from tests.records.archive.support import Storage, archive, size_in_index, texts
from tests.records.conftest import Query
from tests.records.history import NOW, day, make_policy, store, story
from tests.records.support import opened, received, write

RULES = Retention(chunk_days=14, stream_days=180, kept_days=0)
# Terminate the connection that archives.
CUT = f"""
    SELECT pg_terminate_backend(pid, 5000) FROM pg_locks
    WHERE locktype = 'advisory' AND (classid::bigint << 32) + objid::bigint = {moving._LOCK}
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
RUNS = "SELECT stream_id FROM records_upstreamrun UNION SELECT stream_id FROM records_clientrun"


@pytest.fixture(autouse=True)
def partitions(query: Query) -> None:
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        make_days(connection, [day(days_ago).date() for days_ago in (15, 5, 4, 0)])


def in_postgres(query: Query) -> set[UUID]:
    return {row[0] for row in query(RUNS)}


def said(text: str) -> list[bytes]:
    return [sse(delta(content=text)), b"data: [DONE]\n\n"]


def test_older_streams_go_and_give_their_room_back(storage: Storage, query: Query) -> None:
    old, older, new = store(story(day(4)), story(day(5)), story(day(0)))
    before = {each: list(upstream_bytes(each)) for each in (old, older, new)}
    assert archive(storage.bucket) == Moved(2, 2, size_in_index())
    assert in_postgres(query) == {new}
    assert {each: list(upstream_bytes(each)) for each in (old, older, new)} == before
    name = f"records_upstreamrun_{day(4):%Y%m%d}"
    assert query("SELECT pg_relation_size(%s)", name) == [(0,)]
    assert sorted(key.split("/")[:2] for key in storage.objects()) == [
        ["chunks", f"{day(5).date()}"],
        ["chunks", f"{day(4).date()}"],
    ]
    assert archive(storage.bucket) == Moved()


def test_several_streams_share_an_object_up_to_a_size(
    storage: Storage, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(*(story(day(4), number=number) for number in range(10)))
    monkeypatch.setattr(moving, "OBJECT_BYTES", 1000)
    moved = archive(storage.bucket)
    assert moved.streams == 10
    assert 1 < moved.objects == len(storage.objects()) < 10
    assert in_postgres(query) == set()
    assert ArchivedPart.objects.count() == 10


def test_a_stream_that_runs_stays(storage: Storage, query: Query) -> None:
    running, entries = story(day(4))
    write(entries[:-1])
    assert archive(storage.bucket) == Moved()
    assert in_postgres(query) == {running}


def test_what_is_in_no_partition_of_its_own_goes_too(
    storage: Storage, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_store, "make_days", lambda *_: None)
    [kept] = store(story(day(40)))
    assert query("SELECT DISTINCT stream_id FROM records_upstreamrun_default") == [(kept,)]
    archive(storage.bucket)
    assert in_postgres(query) == set()


def test_a_deleted_streams_bytes_leave_the_storage(storage: Storage) -> None:
    gone, left = store(
        story(day(4), said("forget me"), session="one"), story(day(4), said("keep me"), session="two", number=1)
    )
    archive(storage.bucket)
    assert b"forget me" in texts(storage)
    delete_session(Session.objects.get(label="one").pk)
    assert list(upstream_bytes(gone)) == []
    archive(storage.bucket)
    assert b"forget me" not in texts(storage)
    assert list(upstream_bytes(left)) == said("keep me")
    assert not ArchiveObject.objects.filter(is_stale=True).exists()


def test_an_object_of_which_nothing_is_left_goes(storage: Storage) -> None:
    store(story(day(4), session="one"))
    archive(storage.bucket)
    delete_session(Session.objects.get().pk)
    archive(storage.bucket)
    assert storage.objects() == {}
    assert ArchiveObject.objects.count() == 0


class Meddling(Bucket):
    """Deletes a session while an object is stored."""

    session = ""

    def put(self, key: str, data: bytes) -> None:
        super().put(key, data)
        if label := Session.objects.filter(label=self.session).first():
            delete_session(label.pk)


def test_a_stream_that_is_deleted_while_it_is_archived_does_not_come_back(storage: Storage, query: Query) -> None:
    gone, left = store(
        story(day(4), said("forget me"), session="one"), story(day(4), said("keep me"), session="two", number=1)
    )
    meddling = Meddling(storage.archive)
    meddling.session = "one"
    archive(meddling)
    assert ArchivedPart.objects.filter(stream_id=gone).count() == 0
    assert in_postgres(query) == set()
    archive(storage.bucket)
    assert b"forget me" not in texts(storage)
    assert list(upstream_bytes(left)) == said("keep me")


def test_a_stream_that_is_deleted_while_its_object_is_written_anew_does_not_come_back(storage: Storage) -> None:
    labels = ("one", "two", "three")
    store(*(story(day(4), said(f"I am {each}"), session=each, number=n) for n, each in enumerate(labels)))
    archive(storage.bucket)
    delete_session(Session.objects.get(label="one").pk)
    meddling = Meddling(storage.archive)
    meddling.session = "two"
    archive(meddling)
    archive(storage.bucket)
    assert b"I am two" not in texts(storage)
    assert b"I am three" in texts(storage)


class Failing(Bucket):
    """Stores an object, then fails to report it."""

    def put(self, key: str, data: bytes) -> None:
        super().put(key, data)
        raise ChunksAway("the object storage does not answer")


def test_what_was_stored_and_never_entered_is_deleted(storage: Storage, query: Query) -> None:
    [stream] = store(story(day(4)))
    with pytest.raises(ChunksAway):
        archive(Failing(storage.archive))
    assert in_postgres(query) == {stream}
    orphans = set(storage.objects())
    archive(storage.bucket)
    assert in_postgres(query) == set()
    assert len(storage.objects()) == 1
    assert orphans.isdisjoint(storage.objects())


class Cut(Bucket):
    """Before an object is stored, terminates the connection to Postgres and has another writer archive."""

    def put(self, key: str, data: bytes) -> None:
        with psycopg.connect(conninfo(), autocommit=True) as connection:
            connection.execute(CUT)
        archive(Bucket(self._archive))
        super().put(key, data)


def test_what_was_on_its_way_as_its_writer_lost_its_connection_is_deleted(storage: Storage, query: Query) -> None:
    store(story(day(4)))
    with pytest.raises(psycopg.OperationalError):
        archive(Cut(storage.archive))
    assert in_postgres(query) == set()
    archive(storage.bucket)
    query("UPDATE records_archiveobject SET made_at = made_at - interval '61 minutes'")
    archive(storage.bucket)
    assert [each.key for each in ArchiveObject.objects.all()] == [key.partition("/")[2] for key in storage.objects()]


def test_chunks_that_come_while_it_is_archived_are_not_lost(storage: Storage, query: Query) -> None:
    [stream] = store(story(day(4)))

    class Late(Bucket):
        def put(self, key: str, data: bytes) -> None:
            super().put(key, data)
            query(
                "INSERT INTO records_upstreamrun VALUES (%s, 5, 0, '{0}', '{4}', 'late')",
                stream,
            )

    with pytest.raises(psycopg.OperationalError, match="chunks were stored while"):
        archive(Late(storage.archive))
    assert list(upstream_bytes(stream))[-1] == b"late"
    archive(storage.bucket)
    assert list(upstream_bytes(stream))[-1] == b"late"


def test_retention_drops_a_day_and_keeps_what_is_kept(storage: Storage) -> None:
    plain, denied = store(story(day(15), said("forget me")), story(day(15), number=1, denied=make_policy()))
    archive(storage.bucket)
    before = list(upstream_bytes(denied))
    Retaining(RULES, NOW).apply(lambda _: None)
    archive(storage.bucket)
    assert list(upstream_bytes(plain)) == []
    assert list(upstream_bytes(denied)) == before != []
    assert b"forget me" not in texts(storage)


def test_chunks_go_with_a_stream_that_is_kept_no_longer_as_its_day_goes(storage: Storage) -> None:
    store(story(day(15), denied=make_policy()))
    archive(storage.bucket)
    assert ArchivedPart.objects.count() == 1
    for each in partitions_before(day(13).date()):
        drop(each, [])
    assert not Stream.objects.exists()
    assert ArchivedPart.objects.count() == 0
    archive(storage.bucket)
    assert storage.objects() == {}


def test_chunks_that_are_kept_no_longer_leave_the_archive(storage: Storage) -> None:
    [denied] = store(story(day(15), denied=make_policy()))
    archive(storage.bucket)
    Retaining(RULES, NOW).apply(lambda _: None)
    assert ArchivedPart.objects.count() == 1
    Retaining(Retention(chunk_days=14, stream_days=180, kept_days=14), NOW).apply(lambda _: None)
    assert ArchivedPart.objects.count() == 0
    assert Stream.objects.filter(pk=denied).exists()
    archive(storage.bucket)
    assert storage.objects() == {}


def test_a_stream_that_retention_deletes_leaves_nothing(storage: Storage) -> None:
    store(story(day(15)))
    archive(storage.bucket)
    Retaining(Retention(chunk_days=0, stream_days=10, kept_days=0), NOW).apply(lambda _: None)
    archive(storage.bucket)
    assert storage.objects() == {}


def test_only_one_writer_archives_at_a_time(storage: Storage, query: Query) -> None:
    store(story(day(4)))
    query("SELECT pg_advisory_lock(%s)", moving._LOCK)
    assert archive(storage.bucket) == Moved()
    query("SELECT pg_advisory_unlock(%s)", moving._LOCK)
    assert archive(storage.bucket).streams == 1


def test_a_day_is_not_archived_before_its_time() -> None:
    assert moving.first_kept(NOW, 3) == date(2026, 9, 18)


def test_chunks_of_which_only_the_shape_is_kept_are_archived_as_such(storage: Storage) -> None:
    stream_id, entries = story(day(4))
    chunk = received(stream_id, [b"data: secret\n\n"])
    shapes = type(chunk)(stream_id, 0, chunk.received_at, [], [14])
    write([opened(stream_id, requested_at=chunk.received_at), shapes, entries[-1]])
    archive(storage.bucket)
    assert list(upstream_bytes(stream_id)) == [b": 14 bytes not kept\n\n"]


def test_an_object_that_the_storage_lost_keeps_nothing_else_from_being_moved(storage: Storage) -> None:
    store(story(day(4), said("forget me"), session="one"), story(day(4), said("lost"), session="two", number=1))
    archive(storage.bucket)
    storage.bucket.delete(ArchiveObject.objects.get().key)
    delete_session(Session.objects.get(label="one").pk)
    store(story(day(3), said("later")))
    with pytest.raises(ChunksAway, match="out of 1 objects of the archive: the object storage has lost an object"):
        archive(storage.bucket)
    assert b"later" in texts(storage)


def test_a_storage_that_refuses_to_delete_keeps_nothing_from_being_moved(storage: Storage) -> None:
    store(*(story(day(4), session=each, number=n) for n, each in enumerate(("whole", "part"))))
    archive(storage.bucket)
    store(story(day(3.5), said("gone"), session="part, too"), story(day(3.5), number=1))
    archive(storage.bucket)
    for label in ("whole", "part, too"):
        delete_session(Session.objects.get(label=label).pk)
    store(story(day(5), said("later")))
    storage.deny("DeleteObject")
    with pytest.raises(ChunksAway, match="out of 2 objects of the archive: the object storage refuses: 403"):
        archive(storage.bucket)
    assert b"later" in texts(storage)
    assert ArchiveObject.objects.filter(is_stale=True).count() == 2
    storage.allow()
    archive(storage.bucket)
    assert b"gone" not in texts(storage)


@pytest.mark.parametrize("damaged", [lambda data: data[:-9], lambda data: data[:-9] + bytes(9)], ids=["short", "wrong"])
def test_a_damaged_object_is_neither_copied_nor_deleted_and_others_are_written_anew(
    storage: Storage, damaged: Callable[[bytes], bytes]
) -> None:
    _, bad, _, well = store(
        *(story(day(4), session=each, number=n) for n, each in enumerate(["gone", "bad"])),
        *(story(day(3.5), said(each), session=each, number=n) for n, each in enumerate(["gone too", "well"])),
    )
    archive(storage.bucket)
    found = ArchivedPart.objects.get(stream_id=bad).object
    storage.bucket.put(found.key, damaged(storage.bucket.get(found.key, 0, found.size)))
    for label in ("gone", "gone too"):
        delete_session(Session.objects.get(label=label).pk)
    with pytest.raises(ChunksAway, match="out of 1 objects of the archive: an object of the archive is damaged"):
        archive(storage.bucket)
    assert f"chunks/{found.key}" in storage.objects()
    assert ArchivedPart.objects.get(stream_id=bad).object == found
    assert ArchiveObject.objects.get(is_stale=True) == found
    assert list(upstream_bytes(well)) == said("well")
