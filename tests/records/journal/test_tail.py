"""Reading a journal while it grows, and after its worker is gone."""

import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamviz.records.journal import folder, journal
from streamviz.records.journal.encoding import append_record
from streamviz.records.journal.tail import READ_BYTES, Tail
from tests.records.support import journal_of, opened, received

ONE = uuid.UUID(int=1)


def test_it_gives_each_entry_once_as_it_comes(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [opened(ONE)])
    tail = Tail(worker.path)
    assert tail.read(False) == [opened(ONE)]
    assert tail.read(False) == []
    worker.append(received(ONE, [b"a"]))
    worker.flush()
    assert tail.read(False) == [received(ONE, [b"a"])]


def test_it_follows_into_the_next_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    worker = journal_of(tmp_path, [opened(ONE), received(ONE, [b"a"])])
    tail = Tail(worker.path)
    assert [(tail.read(False), tail.number) for _ in range(3)] == [
        ([opened(ONE)], 1),
        ([received(ONE, [b"a"])], 2),
        ([], 2),
    ]
    tail.remove_before(2)
    assert folder.segments(worker.path) == [2]


def test_an_entry_larger_than_a_read_comes_whole(tmp_path: Path) -> None:
    entry = received(ONE, [b"x" * 2 * READ_BYTES])
    worker = journal_of(tmp_path, [opened(ONE), entry, received(ONE, [b"y"], 1)])
    tail = Tail(worker.path)
    assert [tail.read(False) for _ in range(3)] == [[opened(ONE)], [entry], [received(ONE, [b"y"], 1)]]


def test_it_is_behind_while_a_read_leaves_something_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = journal_of(tmp_path, [opened(ONE), received(ONE, [b"x" * 2 * READ_BYTES]), received(ONE, [b"y"], 1)])
    tail = Tail(worker.path)
    assert [(len(tail.read(False)), tail.is_behind) for _ in range(4)] == [(1, True), (1, True), (1, False), (0, False)]
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    for n in (2, 3):
        worker.append(received(ONE, [b"z"], n))
        worker.flush()
    assert [(len(tail.read(False)), tail.is_behind) for _ in range(3)] == [(1, True), (1, False), (0, False)]


def test_half_a_record_is_waited_for_while_the_worker_lives_and_cut_when_it_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    worker = journal_of(tmp_path, [opened(ONE), received(ONE, [b"torn"])])
    path = folder.segment(worker.path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    tail = Tail(worker.path)
    assert tail.read(False) == [opened(ONE)]
    assert tail.read(False) == []
    path.write_bytes(whole)
    assert tail.read(False) == [received(ONE, [b"torn"])]
    path.write_bytes(whole + b"\x07\x00\x00")
    assert tail.read(True) == []
    assert "the last 3 bytes are no whole records" in caplog.text


def test_a_header_that_asks_for_gigabytes_gets_what_there_is(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [received(ONE, [b"x" * READ_BYTES])])
    path = folder.segment(worker.path, 1)
    path.write_bytes(b"\xff\xff\xff\xff" + path.read_bytes()[4:])
    assert Tail(worker.path).read(True) == []


ENTRIES = [opened(ONE), *(received(ONE, [b"chunk %d" % n] * (n + 1), n) for n in range(12))]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_cut_at_any_byte_it_gives_the_whole_records_before_the_cut(tmp_path: Path, data: st.DataObject) -> None:
    worker = journal_of(tmp_path / str(uuid.uuid4()), ENTRIES)
    path = folder.segment(worker.path, 1)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    worker.close()
    found = []
    tail = Tail(worker.path)
    while entries := tail.read(True):
        found += entries
    tail.close()
    assert found == ENTRIES[: len(found)]
    assert len(found) == len(ENTRIES) or cut < len(whole)
    # Not one whole record less than there is.
    lengths = [0]
    for entry in ENTRIES:
        buffer = bytearray()
        append_record(entry, buffer)
        lengths.append(lengths[-1] + len(buffer))
    assert lengths[len(found)] <= cut
    assert len(found) == len(ENTRIES) or cut < lengths[len(found) + 1]
