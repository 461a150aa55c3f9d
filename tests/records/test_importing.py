"""Interrupted imports, local changes in the meantime, and policies from several installations."""

import io
import re
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections

from streamviz.core.json_value import JsonObject
from streamviz.records import importing
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.exporting import export
from streamviz.records.importing import Importing, NotAnExport, lines_of
from streamviz.records.models import Annotation, DeletedSession, DeletedStream, Policy, PolicyVersion, Session, Stream
from streamviz.records.retention import run_retention
from streamviz.records.rules import Retention
from streamviz.records.verification import verify
from streamviz.records.writer.pending import Batch
from streamviz.records.writer.store import Store
from tests.e2e.proxied import until
from tests.records.conftest import Query
from tests.records.history import NOW, day, make_policy, store, story
from tests.records.test_exporting import everything, take

KEPT: JsonObject = {"is_starred": True, "note": "Look at this.", "labels": ["flaky"]}


class Killed(Store):
    """Interrupts the import once it has stored `left` streams."""

    left = 1

    def write(self, batches: Sequence[Batch], *, brings_back: bool = False) -> list[Batch]:
        super().write(batches, brings_back=brings_back)
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return []


@pytest.fixture
def session(query: Query) -> uuid.UUID:
    """A session of two streams, with annotations."""
    for stream_id in store(story(day(1), session="one"), story(day(0), session="one", number=1)):
        Annotation.objects.create(stream_id=stream_id, **KEPT)
    Session.objects.update(is_starred=True, note="And at all of it.")
    return Session.objects.get().pk


@pytest.mark.parametrize("streams", [1, 2])
def test_what_people_said_comes_with_the_import_after_one_that_was_killed(
    query: Query, session: uuid.UUID, streams: int
) -> None:
    before, lines = everything(query), list(export([session]))
    delete_session(session)
    killed = Killed(conninfo)
    killed.left = streams
    with pytest.raises(KeyboardInterrupt):
        Importing(killed).take(lines)
    killed.close()
    assert Stream.objects.count() == streams
    take(lines)
    assert everything(query) == before


@pytest.mark.parametrize("held", [b"", b"\n \n"])
def test_an_empty_file_is_told_that_it_is(held: bytes) -> None:
    with pytest.raises(NotAnExport, match="empty"):
        take(list(lines_of(io.BytesIO(held))))


def test_a_file_of_another_kind_is_refused_in_plain_words() -> None:
    with pytest.raises(NotAnExport, match=r"^Line 1, or the stream before it, is not valid in an export: JSON is"):
        take([b"# streamviz\n"])


def test_exports_behind_one_another_are_taken_as_each_by_itself(query: Query, session: uuid.UUID) -> None:
    store(story(day(0), session="two", number=2))
    sessions = list(Session.objects.order_by("started_at").values_list("pk", flat=True))
    files = [list(export([each])) for each in sessions]
    before = everything(query)
    for each in sessions:
        delete_session(each)
    take([*files[0], *files[1]])
    assert everything(query) == before


def test_a_cut_off_export_before_another_is_told(session: uuid.UUID) -> None:
    lines = list(export([session]))
    with pytest.raises(NotAnExport, match=f"Line {len(lines)}, .*another export begins, and the one before"):
        take([*lines[:-1], *lines])


def test_what_was_taken_off_a_stream_here_stays_off(session: uuid.UUID) -> None:
    lines = list(export([session]))
    Annotation.objects.update(is_starred=False, note="", labels=[])
    Session.objects.update(note="Ours.")
    take(lines)
    assert not Annotation.objects.filter(is_starred=True).exists()
    assert set(Annotation.objects.values_list("note", flat=True)) == {""}
    assert Session.objects.get().note == "Ours."


class Away(Store):
    """Postgres refuses to store anything."""

    def write(self, batches: Sequence[Batch], *, brings_back: bool = False) -> list[Batch]:
        raise psycopg.OperationalError("server closed the connection unexpectedly")


def test_a_deletion_is_forgotten_with_what_comes_back_and_not_before(session: uuid.UUID) -> None:
    lines = list(export([session]))
    delete_session(session)
    with pytest.raises(psycopg.OperationalError):
        Importing(Away(conninfo)).take(lines)
    assert (DeletedStream.objects.count(), DeletedSession.objects.count()) == (2, 1)
    take(lines)
    assert (DeletedStream.objects.count(), DeletedSession.objects.count()) == (0, 0)


def test_what_came_without_its_chunks_is_whole_and_told_of(query: Query, session: uuid.UUID, tmp_path: Path) -> None:
    """Retention had dropped them before the export."""
    query("DELETE FROM records_upstreamrun")
    query("DELETE FROM records_clientrun")
    lines = list(export([session]))
    delete_session(session)
    (file := tmp_path / "bare.jsonl").write_bytes(b"".join(lines))
    call_command("import", str(file), stdout=(said := io.StringIO()))
    assert said.getvalue() == "2 streams, 2 of them without their chunks\n"
    assert list(verify()) == [[], []]


@pytest.fixture
def denied(query: Query) -> list[bytes]:
    """The export of a session with a verdict; the session is then deleted."""
    store(story(day(1), session="denied", denied=make_policy()))
    session = Session.objects.get().pk
    lines = list(export([session]))
    delete_session(session)
    return lines


def of_another_place(lines: list[bytes], **changes: object) -> list[bytes]:
    """The same lines for other streams, with changes to the policies of their verdicts."""
    told = [msgspec.json.decode(line) for line in lines]
    for each in told:
        if "verdict" in each:
            each["verdict"]["policy"] |= changes
    said = b"\n".join(map(msgspec.json.encode, told))
    for each in set(re.findall(rb'"id":"([0-9a-f-]{36})"', said)):
        said = said.replace(each, str(uuid.UUID(int=uuid.UUID(each.decode()).int ^ 0xF0)).encode())
    return said.splitlines(keepends=True)


def id_in(line: bytes) -> str:
    """The id in a stream's line."""
    return str(msgspec.json.decode(line)["stream"]["id"])


def versions() -> list[tuple[int, int]]:
    """The version number and the order of each policy version that has verdicts."""
    told = PolicyVersion.objects.filter(verdicts__isnull=False).order_by("number")
    return list(told.values_list("number", "order"))


def test_a_verdict_of_another_place_is_never_of_a_version_that_was_made_here(denied: list[bytes]) -> None:
    take(denied)
    imported = Policy.objects.get(name="imported-guard")
    imported.mode = "enforce"
    imported.save(by=User.objects.create_user("operator"), reason="It is ours too.")
    for _ in range(2):
        take(of_another_place(denied, number=2, order=7))
    assert imported.version == 2
    assert versions() == [(1, 100), (3, 7)]
    newest = imported.versions.get(number=3)
    assert (newest.changed_by, newest.reason) == (None, "It was v2 where it was imported from.")


def test_versions_of_two_places_that_have_one_name_and_number_stay_two(denied: list[bytes]) -> None:
    take(denied)
    take(of_another_place(denied, order=7))
    assert versions() == [(1, 100), (2, 7)]


def test_a_version_leaves_numbers_for_those_that_are_made_here(denied: list[bytes]) -> None:
    with pytest.raises(NotAnExport, match="its policy has the version 2147483647"):
        take(of_another_place(denied, number=2**31 - 1))
    take(of_another_place(denied, number=10**9))
    imported = Policy.objects.get(name="imported-guard")
    imported.mode = "enforce"
    imported.save(by=User.objects.create_user("operator"), reason="It is ours too.")
    assert imported.version == 10**9 + 1


def test_a_label_that_no_index_takes_is_cut(session: uuid.UUID) -> None:
    lines = list(export([session]))
    delete_session(session)
    digits = "".join(map(str, range(5000)))
    take([line.replace(b'"flaky"', f'"{digits}"'.encode()) for line in lines])
    assert {len(label) for labels in Annotation.objects.values_list("labels", flat=True) for label in labels} == {500}


LARGE = """
CREATE OR REPLACE FUNCTION large() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE 'string too long to represent as jsonb string' USING ERRCODE = '54000';
END $$
"""


@pytest.fixture
def large(query: Query) -> Iterator[None]:
    """Postgres refuses every stream, as if something in it were too large."""
    query(LARGE)
    query("CREATE OR REPLACE TRIGGER large BEFORE INSERT ON records_block FOR EACH ROW EXECUTE FUNCTION large()")
    yield
    query("DROP FUNCTION large CASCADE")


def test_what_is_too_large_for_postgres_is_no_export(denied: list[bytes], large: None) -> None:
    with pytest.raises(NotAnExport, match="too long to represent"):
        take(denied)


def test_a_line_without_an_end_is_read_up_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "LONGEST_LINE", 100_000)
    endless = io.BytesIO(b'{"streamviz":{"version":2}}\n\n{"' + b"x" * 1_000_000)
    assert max(map(len, lines_of(endless))) == 100_000


def test_a_file_that_is_no_export_is_told_without_reading_its_first_line_to_the_end() -> None:
    """As with /dev/zero, which has no end."""
    endless = io.BytesIO(b"\0" * 2**25)
    with pytest.raises(NotAnExport, match="Line 1"):
        take(lines_of(endless))
    assert endless.tell() < 2**20


def test_an_error_quotes_little_of_a_line() -> None:
    with pytest.raises(NotAnExport) as refused:
        take([b'{"streamviz":{"version":2}}\n', b'{"%s":{}}\n' % (b"x" * 100_000)])
    assert len(str(refused.value)) < 500


class Together(Store):
    """Stores a stream once another import is about to store one too."""

    def __init__(self, both: threading.Barrier) -> None:
        super().__init__(conninfo)
        self._both = both

    def write(self, batches: Sequence[Batch], *, brings_back: bool = False) -> list[Batch]:
        self._both.wait()
        return super().write(batches, brings_back=brings_back)


def test_a_file_may_be_imported_twice_at_once(query: Query, denied: list[bytes]) -> None:
    both = threading.Barrier(2)

    def import_() -> None:
        store_ = Together(both)
        try:
            Importing(store_).take(denied)
        finally:
            both.abort()  # if it failed, the other does not wait for it
            store_.close()
            connections.close_all()

    with ThreadPoolExecutor(2) as pool, psycopg.connect(conninfo()) as holder:
        holder.execute("LOCK TABLE records_policy IN SHARE MODE")  # they can look for the policy, but not create it
        importing_ = [pool.submit(import_) for _ in range(2)]
        until(lambda: query("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted") == [(2,)])
        holder.rollback()
        for each in importing_:
            each.result()
    assert query("SELECT count(*), sum(chunk_count) FROM records_stream") == [(1, 5)]
    assert query("SELECT count(*) FROM records_policy WHERE name LIKE 'imported-%%'") == [(1,)]
    assert list(verify()) == [[]]


@pytest.mark.parametrize("what", ["stream", "block", "verdict", "chunk", "frame"])
def test_a_file_with_a_line_twice_is_no_export(query: Query, denied: list[bytes], what: str) -> None:
    at = next(n for n, line in enumerate(denied) if line.startswith(b'{"%s"' % what.encode()))
    with pytest.raises(NotAnExport, match=f"Line {at + 2}, .* is in the file twice or out of order"):
        take([*denied[: at + 1], *denied[at:]])
    assert query("SELECT id FROM records_stream") == []


def test_a_stream_with_another_ones_line_among_its_own_is_not_stored(session: uuid.UUID) -> None:
    lines = list(export([session]))
    delete_session(session)
    [first, second] = [n for n, line in enumerate(lines) if line.startswith(b'{"stream"')]
    with pytest.raises(NotAnExport, match="is in the file twice"):
        take([*lines[: second + 1], lines[first], *lines[second + 1 :]])
    assert [str(each) for each in Stream.objects.values_list("pk", flat=True)] == [id_in(lines[first])]


class Retained(Store):
    """Runs retention just after a stream was stored and before it can be starred."""

    retention: Future[bool]

    def __init__(self, pool: ThreadPoolExecutor, query: Query) -> None:
        super().__init__(conninfo)
        self._pool, self._query = pool, query

    def write(self, batches: Sequence[Batch], *, brings_back: bool = False) -> list[Batch]:
        left = super().write(batches, brings_back=brings_back)
        self.retention = self._pool.submit(retain)
        until(lambda: self.retention.done() or bool(self._query(WAITING)))
        return left


WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def retain() -> bool:
    try:
        return run_retention(Retention(chunk_days=14, stream_days=180, kept_days=0), NOW, lambda _: None)
    finally:
        connections.close_all()


def test_an_old_stream_is_starred_before_retention_asks_for_stars(query: Query) -> None:
    [stream_id] = store(story(day(200), session="old"))
    Annotation.objects.create(stream_id=stream_id, **KEPT)
    session = Session.objects.get().pk
    lines = list(export([session]))
    delete_session(session)
    with ThreadPoolExecutor(1) as pool:
        Importing(store_ := Retained(pool, query)).take(lines)
        assert store_.retention.result()
    store_.close()
    assert query("SELECT id FROM records_stream") == [(stream_id,)]
    assert query("SELECT count(*) > 0 FROM records_chunk") == [(True,)]
