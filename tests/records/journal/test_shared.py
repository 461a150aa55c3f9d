"""A journal is read only once for all who follow its streams."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamviz.records.journal import decoding, shared
from streamviz.records.journal.journal import Journal
from streamviz.records.journal.shared import StreamTail
from streamviz.records.journal.tail import Tail
from streamviz.records.recorder import AnyEntry, ChunksReceived
from tests.records.support import journal_of, received

STREAM, OTHER = uuid.uuid4(), uuid.uuid4()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = journal_of(tmp_path, [])
    yield found
    found.close()
    assert found.path not in shared._journals


def add(journal: Journal, *entries: AnyEntry) -> None:
    for entry in entries:
        journal.append(entry)
        journal.flush()


def raws(entries: list[AnyEntry]) -> list[bytes]:
    return [raw for entry in entries if isinstance(entry, ChunksReceived) for raw in entry.raws]


def rest(follower: StreamTail) -> list[bytes]:
    found = list[bytes]()
    while (entries := follower.read()) or follower.is_behind:
        found += raws(entries)
    return found


def test_many_followers_cost_one_reading(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, decode = 0, decoding._decode

    def counted(payload: Any) -> AnyEntry:
        nonlocal decoded
        decoded += 1
        return decode(payload)

    monkeypatch.setattr(decoding, "_decode", counted)
    others = [received(OTHER, [b"x"], n) for n in range(500)]
    add(journal, received(STREAM, [b"0"]), *others, received(STREAM, [b"1"], 1))
    followers = [StreamTail(journal.path, STREAM) for _ in range(50)]
    assert [rest(follower) for follower in followers] == [[b"0", b"1"]] * 50
    add(journal, received(OTHER, [b"x"], 500), received(STREAM, [b"2"], 2))
    assert [rest(follower) for follower in followers] == [[b"2"]] * 50
    assert decoded == 504 + 50 * 3
    for follower in followers:
        follower.close()


def test_what_is_stored_before_it_was_read_is_a_gap(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamviz.records.journal.journal.SEGMENT_BYTES", 1)
    add(journal, received(STREAM, [b"0"]), received(STREAM, [b"1"], 1))
    ahead, behind, other = (StreamTail(journal.path, each) for each in (STREAM, STREAM, uuid.uuid4()))
    assert (rest(ahead), raws(behind.read())) == ([b"0", b"1"], [b"0"])
    add(journal, received(OTHER, [b"x"]))
    stored = Tail(journal.path)
    while stored.read(False):
        pass
    stored.remove_before(stored.number)
    stored.close()
    add(journal, received(STREAM, [b"2"], 2))
    assert (rest(ahead), ahead.has_gap) == ([b"2"], False)
    assert (rest(behind), behind.has_gap) == ([b"2"], True)
    assert (rest(other), other.has_gap) == ([], False)
    for follower in (ahead, behind, other):
        follower.close()


def test_a_segment_that_goes_as_it_is_read_is_a_gap(journal: Journal) -> None:
    add(journal, received(STREAM, [b"0"]))
    first, second = StreamTail(journal.path, STREAM), StreamTail(journal.path, STREAM)
    assert rest(first) == [b"0"]
    for segment in journal.path.glob("*.records"):
        segment.unlink()
    second.has_gap = False
    assert (second.read(), second.has_gap) == ([], True)
    first.close()
    second.close()


def test_a_long_stream_comes_bit_by_bit(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "READ_BYTES", 1)
    add(journal, *(received(STREAM, [b"%d" % n], n) for n in range(3)))
    follower = StreamTail(journal.path, STREAM)
    seen = []
    while entries := follower.read():
        seen.append((raws(entries), follower.is_behind))
    assert seen == [([b"0"], True), ([b"1"], True), ([b"2"], False)]
    follower.close()


def test_a_follower_that_is_closed_while_it_is_read_is_closed_by_the_reader(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(journal, received(STREAM, [b"0"]))
    follower = StreamTail(journal.path, STREAM)
    read = follower._shared._read

    def closing(of: StreamTail) -> list[AnyEntry]:
        found = read(of)
        follower.close()
        assert follower._shared._tail._file >= 0
        return found

    monkeypatch.setattr(follower._shared, "_read", closing)
    assert raws(follower.read()) == [b"0"]
    assert follower._shared._tail._file < 0
