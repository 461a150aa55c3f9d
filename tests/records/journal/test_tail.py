"""Reading a journal while it grows, and after its worker is gone."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamviz.records.journal import folder, journal
from streamviz.records.journal.encoding import append_record
from streamviz.records.journal.tail import READ_BYTES, Tail
from streamviz.records.recorder import AnyEntry
from tests.records.support import journal_of, opened, received
from tests.thorough import examples

ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)


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
    path.write_bytes(whole + folder.marker(path)[:3])
    assert tail.read(True) == []
    assert "cut the last 3 bytes, an incomplete record" in caplog.text


def test_a_header_that_asks_for_gigabytes_gets_what_there_is(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [received(ONE, [b"x" * READ_BYTES])])
    path = folder.segment(worker.path, 1)
    path.write_bytes(path.read_bytes()[:8] + b"\xff\xff\xff\xff" + path.read_bytes()[12:])
    assert Tail(worker.path).read(True) == []


ENTRIES = [opened(ONE), *(received(ONE, [b"chunk %d" % n] * (n + 1), n) for n in range(12))]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    # All complete records are found.
    lengths = [0]
    for entry in ENTRIES:
        buffer = bytearray()
        append_record(entry, buffer, folder.marker(path))
        lengths.append(lengths[-1] + len(buffer))
    assert lengths[len(found)] <= cut
    assert len(found) == len(ENTRIES) or cut < lengths[len(found) + 1]


def read_all(path: Path, is_abandoned: bool = True) -> list[AnyEntry]:
    """Everything that a writer reads of a journal from its beginning."""
    tail, found = Tail(path), []
    while entries := tail.read(is_abandoned):
        found += entries
    tail.close()
    return found


def flipped(data: bytearray, place: int, length: int) -> None:
    data[place] ^= 1 << length % 8


def overwritten(data: bytearray, place: int, length: int) -> None:
    data[place : place + length] = bytes(len(data[place : place + length]))


def missing(data: bytearray, place: int, length: int) -> None:
    del data[place : place + length]


def page_zeroed(data: bytearray, place: int, length: int) -> None:
    overwritten(data, place // 512 * 512, 512)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    damage=st.sampled_from([flipped, overwritten, missing, page_zeroed]),
    place=st.floats(0, 1, exclude_max=True),
    length=st.integers(1, 3000),
)
def test_damage_costs_what_it_touches_and_nothing_else(
    tmp_path: Path, damage: Callable[[bytearray, int, int], None], place: float, length: int
) -> None:
    worker = journal_of(tmp_path / str(uuid.uuid4()), ENTRIES)
    worker.close()
    path = folder.segment(worker.path, 1)
    ends = [0]
    for entry in ENTRIES:
        buffer = bytearray()
        append_record(entry, buffer, folder.marker(path))
        ends.append(ends[-1] + len(buffer))
    whole = path.read_bytes()
    first = int(place * len(whole))
    data = bytearray(whole)
    damage(data, first, length)
    path.write_bytes(data)
    last = first + (0 if damage is flipped else length - 1)
    if damage is page_zeroed:
        first, last = first // 512 * 512, first // 512 * 512 + 511
    untouched = [
        entry for entry, start, end in zip(ENTRIES, ends, ends[1:], strict=False) if end <= first or start > last
    ]
    assert [entry for entry in read_all(worker.path) if entry in untouched] == untouched
    assert all(entry in ENTRIES for entry in read_all(worker.path))


def test_a_damaged_segment_is_kept_once_all_that_is_whole_was_taken_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = journal_of(tmp_path, ENTRIES)
    path = folder.segment(worker.path, 1)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    last = received(ONE, [b"last"], 12)
    worker.append(last)
    worker.flush()
    tail = Tail(worker.path)
    found = [entry for _ in range(3) for entry in tail.read(False)]
    assert found[-1] == last
    assert len(found) == len(ENTRIES)
    assert folder.damaged(tmp_path) == []
    tail.remove_before(tail.number)
    [kept] = folder.damaged(tmp_path)
    assert kept.read_bytes() == data
    assert kept.stat().st_mode & 0o777 == 0o600
    assert folder.segments(worker.path) == [2]
    assert "are damaged; what is whole is stored" in caplog.text


def test_what_a_model_wrote_is_never_taken_for_a_record(tmp_path: Path) -> None:
    """It may contain complete records, in the form of another journal or of older ones."""
    forged = bytearray()
    for marker in (b"", b"another!"):
        append_record(opened(TWO), forged, marker)
    worker = journal_of(tmp_path, [opened(ONE), received(ONE, [bytes(forged)]), received(ONE, [b"next"], 1)])
    path = folder.segment(worker.path, 1)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"another!", b"ANOTHER!"))
    assert read_all(worker.path) == [opened(ONE), received(ONE, [b"next"], 1)]


def test_journals_of_before_there_were_markers_are_read(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [])
    folder.segment(worker.path, 1).unlink()
    records = bytearray()
    for entry in ENTRIES:
        append_record(entry, records)
    (worker.path / "0000000001.segment").write_bytes(records)
    assert read_all(worker.path) == ENTRIES
