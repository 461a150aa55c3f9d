"""Streams that Postgres refuses: when the writer waits, and how they are stored in the end."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from streamviz.records.database import conninfo
from streamviz.records.journal import folder
from streamviz.records.journal.folder import refused
from streamviz.records.writer.linking import _LOCK
from streamviz.records.writer.process import Writer
from streamviz.records.writer.refused import hand_back
from tests.e2e.proxied import until
from tests.records.conftest import Query, wait_for_a_lock
from tests.records.support import closed, journal_of, move, opened, received

ODD = """
CREATE OR REPLACE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.finish_reason = 'odd' THEN RAISE 'cache lookup failed' USING ERRCODE = 'XX000'; END IF; RETURN NEW;
END $$
"""


@pytest.fixture
def odd(query: Query) -> Iterator[None]:
    """Postgres raises an internal error for some streams."""
    query(ODD)
    query("CREATE OR REPLACE TRIGGER odd BEFORE INSERT OR UPDATE ON records_stream FOR EACH ROW EXECUTE FUNCTION odd()")
    yield
    query("DROP FUNCTION IF EXISTS odd CASCADE")


def test_what_was_set_aside_can_be_stored_once_the_reason_is_gone(
    query: Query, tmp_path: Path, odd: None, settings: Settings
) -> None:
    settings.JOURNAL_DIR = tmp_path
    bad = uuid.uuid4()
    journal_of(tmp_path, [opened(bad), received(bad, [b"x"]), closed(bad, finish_reason="odd")]).close()
    move(tmp_path)
    assert query("SELECT count(*) FROM records_stream") == [(0,)]
    for told, aside in (("1 stream handed back", 1), ("1 stream handed back", 0), ("0 streams handed back", 0)):
        call_command("store_again", stdout=(said := StringIO()))
        assert said.getvalue().startswith(told)
        move(tmp_path)
        assert len(refused(tmp_path)) == aside
        query("DROP FUNCTION IF EXISTS odd CASCADE")
    assert query("SELECT id FROM records_stream WHERE outcome = 'completed'") == [(bad,)]
    assert query("SELECT count(*) FROM records_upstreamrun") == [(1,)]


def test_what_comes_behind_something_that_was_set_aside_goes_there_too(
    query: Query, tmp_path: Path, settings: Settings
) -> None:
    settings.JOURNAL_DIR = tmp_path
    stream_id = uuid.uuid4()
    journal = journal_of(tmp_path, [opened(stream_id)])
    move(tmp_path)
    for count, entry in enumerate(
        [received(stream_id, [b"a", b"b"]), received(stream_id, [b"c"], 2), closed(stream_id)]
    ):
        if count == 0:
            query("ALTER TABLE records_upstreamrun ADD CONSTRAINT odd CHECK (false) NOT VALID")
        journal.append(entry)
        journal.flush()
        move(tmp_path)
        query("ALTER TABLE records_upstreamrun DROP CONSTRAINT IF EXISTS odd")
    assert query("SELECT count(*) FROM records_upstreamrun") == [(0,)]
    journal.close()
    move(tmp_path)
    call_command("store_again", stdout=StringIO())
    move(tmp_path)
    assert [bytes(raw) for (raw,) in query("SELECT raw FROM records_chunk ORDER BY seq")] == [b"a", b"b", b"c"]
    assert query("SELECT outcome FROM records_stream") == [("completed",)]
    assert refused(tmp_path) == []


def test_streams_are_handed_back_while_the_writer_runs(
    query: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query("ALTER TABLE records_stream ADD CONSTRAINT odd CHECK (false) NOT VALID")
    for _ in range(2):
        stream_id = uuid.uuid4()
        journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"x"]), closed(stream_id, chunk_count=1)]).close()
    move(tmp_path)
    query("ALTER TABLE records_stream DROP CONSTRAINT odd")
    writer = Writer(tmp_path, conninfo)

    def seen_at_once(root: Path) -> tuple[Path, int]:
        made = folder.create(root)
        writer.turn()
        return made

    monkeypatch.setattr("streamviz.records.writer.refused.create", seen_at_once)
    assert hand_back(tmp_path) == 2
    writer.finish()
    assert refused(tmp_path) == []
    assert query("SELECT outcome FROM records_stream") == [("completed",)] * 2


def test_a_stream_that_runs_on_when_it_is_handed_back_comes_whole(query: Query, tmp_path: Path) -> None:
    query("ALTER TABLE records_stream ADD CONSTRAINT odd CHECK (false) NOT VALID")
    stream_id = uuid.uuid4()
    journal = journal_of(tmp_path, [opened(stream_id), received(stream_id, [b"a"])])
    writer = Writer(tmp_path, conninfo)
    writer.turn(everything=True)
    query("ALTER TABLE records_stream DROP CONSTRAINT odd")
    hand_back(tmp_path)
    for entry in (received(stream_id, [b"b"], 1), closed(stream_id, chunk_count=2)):
        journal.append(entry)
    journal.close()
    writer.finish()
    hand_back(tmp_path)
    move(tmp_path)
    assert [bytes(raw) for (raw,) in query("SELECT raw FROM records_chunk ORDER BY seq")] == [b"a", b"b"]
    assert query("SELECT outcome FROM records_stream") == [("completed",)]
    assert refused(tmp_path) == []


def test_other_files_beside_those_of_streams_are_left_alone(query: Query, tmp_path: Path) -> None:
    other = folder.private_folder(tmp_path / folder.REFUSED) / "copy of one.segment"
    other.touch()
    stream_id = uuid.uuid4()
    journal_of(tmp_path, [opened(stream_id), closed(stream_id)]).close()
    move(tmp_path)
    assert query("SELECT id FROM records_stream") == [(stream_id,)]
    assert (refused(tmp_path), hand_back(tmp_path), other.exists()) == ([], 0, True)


def test_what_the_connection_of_a_dead_writer_stores_meanwhile_is_not_set_aside(query: Query, tmp_path: Path) -> None:
    """Postgres completes the statement that it has received, even though no one waits for it any more."""
    stream_id = uuid.uuid4()
    whole = [opened(stream_id, asked=[1]), received(stream_id, [b"x"]), closed(stream_id, chunk_count=1)]
    for writer in ("dead", "next"):
        journal_of(tmp_path / writer, whole).close()
    query("SELECT pg_advisory_lock(%s)", _LOCK)
    with ThreadPoolExecutor(2) as pool:
        dead = pool.submit(move, tmp_path / "dead")
        until(lambda: bool(query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")))
        following = pool.submit(move, tmp_path / "next")
        wait_for_a_lock(query)
        query("SELECT pg_advisory_unlock(%s)", _LOCK)
        dead.result()
        following.result()
    assert refused(tmp_path / "next") == []
    assert query("SELECT seq FROM records_chunk") == [(0,)]
