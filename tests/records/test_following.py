"""Reading a recorded stream as it grows: from Postgres, and the rest from its worker's journal."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamviz.records.entries import UNKNOWN_POLICY
from streamviz.records.following import Following, News
from streamviz.records.journal.journal import Journal
from streamviz.records.models import Policy, Stream
from streamviz.records.runs import RUN
from tests.records.conftest import Query
from tests.records.support import NOON, closed, journal_of, judged, move, opened, passed, received, sent, verdict

STREAM = uuid.uuid4()


@pytest.fixture
def journal(query: Query, tmp_path: Path) -> Iterator[Journal]:
    """The journal of a worker of which the beginning of a stream and two chunks are already stored."""
    found = journal_of(tmp_path, [opened(STREAM), received(STREAM, [b"0", b"1"])])
    move(tmp_path)
    yield found
    found.close()


def following(root: Path) -> Following:
    return Following(Stream.objects.get(pk=STREAM), root)


def raws(news: News) -> list[bytes | None]:
    return [chunk.raw for chunk in news.chunks]


def add(journal: Journal, *entries: object) -> None:
    for entry in entries:
        journal.append(entry)
    journal.flush()


def test_what_is_stored_comes_first_and_then_the_journal(journal: Journal, tmp_path: Path) -> None:
    reader = following(tmp_path)
    assert raws(reader.read()) == [b"0", b"1"]
    add(journal, received(STREAM, [b"2"], 2), received(uuid.uuid4(), [b"another's"]))
    assert raws(reader.read()) == [b"2"]
    assert not reader.read()
    add(journal, received(STREAM, [b"3"], 3), closed(STREAM, chunk_count=4))
    last = reader.read()
    assert (raws(last), last.closed and last.closed.chunk_count) == ([b"3"], 4)


def test_what_was_stored_between_two_reads_comes_once(journal: Journal, tmp_path: Path) -> None:
    reader = following(tmp_path)
    reader.read()
    add(journal, received(STREAM, [b"2"], 2))
    move(tmp_path)
    assert raws(reader.read(looks_again=True)) == [b"2"]
    assert not reader.read()


def test_what_the_journal_has_no_more_is_read_from_postgres(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamviz.records.journal.journal.SEGMENT_BYTES", 1)
    reader = following(tmp_path)
    reader.read()
    add(journal, received(STREAM, [b"2"], 2))
    move(tmp_path)
    add(journal, received(STREAM, [b"3"], 3))
    found: list[bytes | None] = []
    for _ in range(4):
        found += raws(reader.read())
    assert found == [b"2", b"3"]


def test_what_is_read_with_the_first_look_into_a_journal_that_goes_on_is_not_lost(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first segments are gone, and they might have contained something of the stream."""
    monkeypatch.setattr("streamviz.records.journal.journal.SEGMENT_BYTES", 1)
    for _ in range(2):
        add(journal, received(uuid.uuid4(), [b"another's"]))
        move(tmp_path)
    reader = following(tmp_path)
    add(journal, received(STREAM, [b"2"], 2))
    found: list[bytes | None] = []
    for _ in range(4):
        found += raws(reader.read())
    assert found == [b"0", b"1", b"2"]


def test_the_end_does_not_come_before_what_the_journal_has_no_more(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamviz.records.journal.journal.SEGMENT_BYTES", 1)
    policy = Policy(name="guard", kind="tool_rule", parameters={"names": ["x"]})
    policy.save()
    reader = following(tmp_path)
    reader.read()
    add(journal, received(STREAM, [b"2"], 2), judged(STREAM, verdict(policy.versions.get().pk)))
    add(journal, opened(uuid.uuid4()))
    move(tmp_path)
    add(journal, closed(STREAM, chunk_count=3))
    found = News()
    while found.closed is None:
        news = reader.read()
        found.chunks, found.verdicts, found.closed = (
            found.chunks + news.chunks, found.verdicts + news.verdicts, news.closed
        )  # fmt: skip
    assert (raws(found), len(found.verdicts)) == ([b"2"], 1)


def test_a_request_that_comes_after_its_stream_began_is_news(journal: Journal, tmp_path: Path) -> None:
    add(journal, opened(STREAM, request=b"later"))
    reader = following(tmp_path)
    reader.read()
    assert reader.read().request == b"later"


def test_verdicts_come_with_their_policies(journal: Journal, tmp_path: Path) -> None:
    policy = Policy(name="guard", kind="tool_rule", parameters={"names": ["x"]})
    policy.save()
    version = policy.versions.get()
    reader = following(tmp_path)
    reader.read()
    add(journal, judged(STREAM, verdict(version.pk)), judged(STREAM, verdict(version.pk, number=1, at=NOON + 1)))
    from_journal = [(each.verdict.number, each.policy, each.version) for each in reader.read().verdicts]
    assert from_journal == [(0, "guard", 1), (1, "guard", 1)]
    move(tmp_path)
    assert [each.verdict.number for each in following(tmp_path).read().verdicts] == [0, 1]


def test_a_verdict_whose_policy_is_not_on_record_comes_all_the_same(journal: Journal, tmp_path: Path) -> None:
    reader = following(tmp_path)
    reader.read()
    add(journal, judged(STREAM, verdict(999_999)))
    from_journal = [(each.policy, each.version) for each in reader.read().verdicts]
    move(tmp_path)
    from_record = [(each.policy, each.version) for each in following(tmp_path).read().verdicts]
    assert from_journal == from_record == [UNKNOWN_POLICY]


def test_a_long_stream_comes_in_pieces_in_order(journal: Journal, tmp_path: Path) -> None:
    many = 20 * RUN
    add(journal, received(STREAM, [b"%d" % n for n in range(2, many)], 2), closed(STREAM, chunk_count=many))
    move(tmp_path)
    reader, found, pieces = following(tmp_path), list[bytes | None](), 0
    while True:
        news = reader.read()
        found, pieces = found + raws(news), pieces + 1
        if news.closed:
            break
    assert found == [b"%d" % n for n in range(many)]
    assert pieces > 1


def test_a_stream_of_another_machine_is_read_from_postgres_alone(
    journal: Journal, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    reader = following(tmp_path_factory.mktemp("elsewhere"))
    assert not reader.is_live
    assert raws(reader.read()) == [b"0", b"1"]
    add(journal, received(STREAM, [b"2"], 2))
    assert not reader.read()
    add(journal, closed(STREAM))
    move(tmp_path)
    assert reader.read().closed


def test_as_sent_a_chunk_comes_once_it_went_out_and_is_bare_where_it_did_not(journal: Journal, tmp_path: Path) -> None:
    readers = [Following(Stream.objects.get(pk=STREAM), root, as_sent=True) for root in (tmp_path, tmp_path / "none")]
    assert [raws(reader.read()) for reader in readers] == [[], []]
    add(journal, sent(STREAM, passed([0])), received(STREAM, [b"2", b"3"], 2))
    assert raws(readers[0].read()) == [b"0"]
    add(journal, sent(STREAM, passed([2]), 1), closed(STREAM))
    assert raws(readers[0].read()) == [None, b"2", None]
    move(tmp_path)
    assert raws(readers[1].read()) == [b"0", None, b"2", None]


def test_a_stream_that_was_deleted_is_none(journal: Journal, tmp_path: Path) -> None:
    reader = following(tmp_path)
    Stream.objects.filter(pk=STREAM).delete()
    with pytest.raises(Stream.DoesNotExist):
        reader.read()
