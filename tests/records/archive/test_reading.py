"""Archived streams read as before, from the storage and from memory; errors say what cannot be read."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest
from django.core.management import CommandError, call_command

from streamviz.records.archive import reading
from streamviz.records.archive.bucket import Bucket, ChunksAway, ObjectGone
from streamviz.records.archive.parts import Runs
from streamviz.records.archive.reading import Kept
from streamviz.records.archive.rows import UpstreamRow
from streamviz.records.backtests.runner import Scope, _chunks, run
from streamviz.records.database import conninfo
from streamviz.records.exporting import export_streams
from streamviz.records.following import Following
from streamviz.records.models import ArchiveObject, Block, Policy, Session, Stream
from streamviz.records.partitions import make_days
from streamviz.records.policies_in_force import scoped_policy
from streamviz.records.queries import streams
from streamviz.records.replays import chunks_from, why_not
from streamviz.records.tapes import client_bytes, kept, passed_runs, upstream_bytes, upstream_runs
from streamviz.records.verification import strays, verify
from tests.core.support import delta, sse
from tests.records.archive.support import Storage, archive
from tests.records.conftest import Query
from tests.records.history import day, make_policy, store, story

pytestmark = pytest.mark.slow

LONG = [sse(delta(content=f"word {number} ")) for number in range(300)] + [b"data: [DONE]\n\n"]


@pytest.fixture
def stored(query: Query) -> list[UUID]:
    """A long stream, and one that a policy intervened in."""
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        make_days(connection, [day(4).date()])
    return store(story(day(4), LONG, session="long"), story(day(4), number=1, denied=make_policy()))


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_kept", Kept(reading.MOST_KEPT_BYTES))


def read_all(stream_id: UUID, *, as_sent: bool) -> list[Any]:
    following = Following(Stream.objects.get(pk=stream_id), Path("/nowhere"), as_sent=as_sent)
    news = [following.read()]
    while news[-1].closed is None:
        news.append(following.read())
    return [chunk for each in news for chunk in each.chunks]


def replayed(stream_id: UUID) -> list[Any]:
    found, more = [], chunks_from(stream_id, 0)
    while more:
        found += more
        more = chunks_from(stream_id, more[-1].seq + 1)
    return [why_not(Stream.objects.get(pk=stream_id)), found]


READERS: dict[str, Callable[[UUID], Any]] = {
    "export": lambda each: list(export_streams(Stream.objects.filter(pk=each).select_related("session"))),
    "upstream": lambda each: list(upstream_bytes(each)),
    "client": lambda each: list(client_bytes(each)),
    "a stretch": lambda each: [chunk for run in upstream_runs(each, 130, 140) for chunk in run.chunks()],
    "passed": lambda each: [run.first_frame for run in passed_runs(each, 0, 10)][:1],
    "kept": kept,
    "times": lambda each: streams.entries_of(streams.load(each)).times,
    "events": lambda each: read_all(each, as_sent=False),
    "events as sent": lambda each: read_all(each, as_sent=True),
    "replay": replayed,
    "backtest": lambda each: _chunks(list(Stream.objects.filter(pk=each))),
    "verify": lambda each: list(verify()),
}


def test_an_archived_stream_reads_as_before(storage: Storage, stored: list[UUID]) -> None:
    before = {name: [read(each) for each in stored] for name, read in READERS.items()}
    assert archive(storage.bucket).streams == 2
    for name, read in READERS.items():
        assert [read(each) for each in stored] == before[name], name
    assert list(strays()) == []


def test_what_is_moved_while_it_is_read_is_read_on_in_the_archive(storage: Storage, stored: list[UUID]) -> None:
    several = 128 * 21
    [stream_id] = store(story(day(4), [sse(delta(content=str(n))) for n in range(several)], session="x", number=7))
    chunks = (chunk for run in upstream_runs(stream_id) for chunk in run.chunks())
    first = next(chunks)
    archive(storage.bucket)
    assert [chunk.seq for chunk in (first, *chunks)] == list(range(several))


def test_what_is_written_anew_while_it_is_read_is_found(storage: Storage, stored: list[UUID]) -> None:
    archive(storage.bucket)
    part = reading._of(stored[0]).get(number=0)
    ArchiveObject.objects.update(is_stale=True)
    archive(storage.bucket)
    assert reading.runs_of(part).upstream[0].first_seq == 0


def test_an_object_that_is_lost_is_told_of(storage: Storage, stored: list[UUID]) -> None:
    archive(storage.bucket)
    storage.bucket.delete(ArchiveObject.objects.get().key)
    with pytest.raises(ObjectGone, match="has lost an object"):
        list(upstream_bytes(stored[0]))


def test_an_object_that_is_damaged_is_told_of(storage: Storage, stored: list[UUID]) -> None:
    archive(storage.bucket)
    found = ArchiveObject.objects.get()
    storage.bucket.put(found.key, bytes(found.size))
    with pytest.raises(ChunksAway, match="is damaged"):
        list(upstream_bytes(stored[0]))


@pytest.mark.parametrize("what", ["cut off", "refused"])
def test_an_object_that_cannot_be_had_keeps_no_other_one_from_being_read(
    storage: Storage, stored: list[UUID], what: str
) -> None:
    [well] = store(story(day(3.5), LONG, session="well"))
    archive(storage.bucket)
    before = reading._of(stored[1]).get().object
    if what == "cut off":
        storage.bucket.put(before.key, b"(")
    else:
        storage.deny("GetObject", before.key)
    with pytest.raises(ChunksAway, match="it is cut off" if what == "cut off" else "refuses: 403"):
        list(upstream_bytes(stored[1]))
    assert list(upstream_bytes(well)) == LONG


@pytest.mark.parametrize("what", ["lost", "cut off", "refused"])
def test_verify_names_what_cannot_be_had_and_goes_on(storage: Storage, stored: list[UUID], what: str) -> None:
    [well, ill] = store(story(day(3.5), LONG, session="well"), story(day(3.4), number=2))
    archive(storage.bucket)
    key = reading._of(stored[1]).get().object.key
    if what == "lost":
        storage.bucket.delete(key)
    elif what == "cut off":
        storage.bucket.put(key, b"(")
    else:
        storage.deny("GetObject", key)
    Block.objects.filter(stream_id=ill, ordinal=0).update(text="Let me lie.")
    found = {damage.stream_id: damage.what for each in verify() for damage in each}
    assert found.keys() == {*stored, ill}
    assert well not in found
    assert all(found[each].startswith("its chunks cannot be read: ") for each in stored)


def test_an_export_names_what_cannot_be_had_and_goes_on(storage: Storage, stored: list[UUID], tmp_path: Path) -> None:
    [well] = store(story(day(3.5), LONG, session="well"))
    archive(storage.bucket)
    storage.bucket.delete(reading._of(stored[1]).get().object.key)
    file, said = tmp_path / "all.jsonl", io.StringIO()
    file.write_bytes(b"of before")
    with pytest.raises(CommandError, match="Everything is exported except the chunks of 2 streams"):
        call_command("export", days=10_000.0, output=str(file), stderr=said)
    assert all(f"{each}: its chunks cannot be read: the object storage has lost" in said.getvalue() for each in stored)
    lines = file.read_bytes().splitlines()
    assert sum(line.startswith(b'{"chunk":') for line in lines) == len(LONG)
    assert {UUID(msgspec.json.decode(line)["stream"]["id"]) for line in lines if b'{"stream":' in line} == {
        well,
        *stored,
    }
    assert lines[-1] == b'{"end":{}}'


def test_an_export_without_chunks_takes_the_place_of_none_that_is_whole(
    storage: Storage, stored: list[UUID], tmp_path: Path
) -> None:
    archive(storage.bucket)
    file = tmp_path / "all.jsonl"
    call_command("export", days=10_000.0, output=str(file))
    before = file.read_bytes()
    reading._kept = Kept(reading.MOST_KEPT_BYTES)
    storage.deny("GetObject")
    with pytest.raises(CommandError, match="is unchanged: the chunks of 2 streams cannot be read"):
        call_command("export", days=10_000.0, output=str(file), stderr=io.StringIO())
    assert (list(tmp_path.iterdir()), file.read_bytes()) == ([file], before)
    file.write_bytes(b"")
    with pytest.raises(CommandError, match="Everything is exported except the chunks of 2 streams"):
        call_command("export", days=10_000.0, output=str(file), stderr=io.StringIO())
    assert file.read_bytes().endswith(b'{"end":{}}\n')


def test_a_back_test_passes_over_what_cannot_be_had(storage: Storage, stored: list[UUID]) -> None:
    store(story(day(3.5), LONG, session="well"))
    archive(storage.bucket)
    storage.bucket.delete(reading._of(stored[1]).get().object.key)
    policy = Policy.objects.get(name="guard")
    figures = run(scoped_policy(policy.name, policy, 1), policy.pk, Scope(100), lambda *_: True)
    assert figures.streams == 3
    assert figures.skipped["the chunks cannot be read: the object storage has lost an object of the archive"] == 2


def test_a_storage_that_is_away_is_not_asked_again_at_once(
    storage: Storage, away: Bucket, stored: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(storage.bucket)
    with pytest.raises(ChunksAway, match="does not answer"):
        list(upstream_bytes(stored[0]))
    monkeypatch.setattr(away, "_client", None)
    monkeypatch.setattr(away, "_connected", lambda: pytest.fail("asked again"))
    with pytest.raises(ChunksAway, match="does not answer"):
        list(upstream_bytes(stored[0]))


def test_a_storage_that_refuses_says_why_and_no_credential(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    refused = Bucket(
        storage.archive.__class__("no-such-bucket", "", storage.archive.endpoint, "us-east-1", 3, "a", "b")
    )
    with caplog.at_level("DEBUG"), pytest.raises(ChunksAway) as raised:
        refused.get("anything", 0, 1)
    assert str(raised.value) == "the object storage refuses: NoSuchBucket"
    assert "a-secret-of-tests" not in repr(storage.archive) + caplog.text


def test_without_a_storage_pages_are_told_so(storage: Storage, stored: list[UUID], settings: Any) -> None:
    archive(storage.bucket)
    settings.ARCHIVE = None
    with pytest.raises(ChunksAway, match="ARCHIVE_URL is not set"):
        list(upstream_bytes(stored[0]))


def test_importing_what_is_archived_changes_nothing(
    storage: Storage, stored: list[UUID], tmp_path: Path, query: Query
) -> None:
    archive(storage.bucket)
    before = list(upstream_bytes(stored[0]))
    file = str(tmp_path / "sessions.jsonl")
    call_command("export", str(Session.objects.get(label="long").pk), "--output", file, stdout=io.StringIO())
    call_command("import", file, stdout=io.StringIO())
    assert query("SELECT count(*) FROM records_upstreamrun") == [(0,)]
    assert list(upstream_bytes(stored[0])) == before != []


def test_no_more_is_kept_than_may_be() -> None:
    kept_parts = Kept(100)
    runs = Runs([UpstreamRow(0, 0, [0], [40], bytes(40))])
    for place in range(5):
        kept_parts.put((UUID(int=0), place), runs)
    assert [kept_parts.get((UUID(int=0), place)) is not None for place in range(5)] == [False] * 3 + [True] * 2
    kept_parts.put((UUID(int=0), 9), Runs([UpstreamRow(0, 0, [0], [200], bytes(200))]))
    assert kept_parts.get((UUID(int=0), 9)) is None
