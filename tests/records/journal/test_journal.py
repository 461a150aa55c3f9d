"""A worker's journal: once a flush has returned, its entries are in the files, even if the worker or the disk fails."""

import resource
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamviz.records.journal import folder, journal, room
from streamviz.records.journal.journal import INCOMPLETE, Journal
from streamviz.records.journal.room import Limits
from streamviz.records.journal.tail import Tail
from streamviz.records.recorder import AnyEntry, StreamClosed
from tests.records.support import ROOM, closed, journal_of, opened, received

ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)
BIG = b"x" * 5000


def everything(path: Path) -> list[AnyEntry]:
    """Everything in a journal, as a writer reads it."""
    tail, found = Tail(path), []
    while entries := tail.read(folder.is_abandoned(path)):
        found += entries
    tail.close()
    return found


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Limit files to `size` bytes for the duration of the block: a longer write is cut off, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_it_writes_at_a_flush_and_all_at_once(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [])
    worker.append(opened(ONE))
    worker.append(received(ONE, [b"a"]))
    assert everything(worker.path) == []
    worker.flush()
    assert everything(worker.path) == [opened(ONE), received(ONE, [b"a"])]


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_an_old_segment_is_left_to_the_writer_though_nothing_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(journal, "SEGMENT_SECONDS", seconds)
    worker = journal_of(tmp_path, [opened(ONE), received(ONE, [BIG])])
    for _ in range(2):  # the second time there is nothing in it
        worker.leave_old()
    tail = Tail(worker.path)
    while tail.read(is_abandoned=False):
        tail.remove_before(tail.number)
    tail.remove_before(tail.number)
    kept = b"".join(path.read_bytes() for path in worker.path.iterdir())
    assert (BIG in kept) == (seconds > 0)
    assert len(folder.segments(worker.path)) == 1


def test_what_was_flushed_outlives_a_worker_that_never_closed_it(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [opened(ONE)])
    worker.append(received(ONE, [b"never flushed"]))
    path = worker.path
    assert not folder.is_abandoned(path)
    worker.close()
    assert folder.is_abandoned(path)
    assert folder.journals(tmp_path) == [path]


def test_closing_it_writes_what_was_not_flushed(tmp_path: Path) -> None:
    worker = Journal(tmp_path, ROOM)
    worker.append(opened(ONE))
    worker.close()
    assert everything(worker.path) == [opened(ONE)]


def test_it_goes_on_in_a_new_segment_when_one_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 2000)
    entries = [received(ONE, [b"y" * 900], n) for n in range(9)]
    worker = journal_of(tmp_path, entries)
    assert len(folder.segments(worker.path)) == 5
    assert everything(worker.path) == entries


def test_two_workers_have_a_folder_each(tmp_path: Path) -> None:
    first, second = journal_of(tmp_path, [opened(ONE)]), journal_of(tmp_path, [opened(TWO)])
    assert folder.journals(tmp_path) == sorted([first.path, second.path])
    assert everything(second.path) == [opened(TWO)]


def test_half_a_record_on_a_full_disk_is_taken_back(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [opened(ONE), opened(TWO)])
    with disk_of(2000):
        worker.append(received(ONE, [BIG]))
        worker.flush()
        assert worker.left_out == 1
        worker.append(received(TWO, [b"small"]))
        worker.flush()
    assert everything(worker.path) == [opened(ONE), opened(TWO), received(TWO, [b"small"])]


def test_a_stream_that_was_cut_short_is_closed_as_incomplete_once_there_is_room(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [opened(ONE)])
    with disk_of(300):
        worker.append(received(ONE, [BIG]))
        worker.flush()
        worker.append(received(ONE, [b"behind the gap"], 1))
        worker.append(closed(ONE, error="what upstream said"))
        worker.flush()
    assert everything(worker.path) == [opened(ONE)]
    assert worker.left_out == 0
    # No further entry is needed first.
    worker.try_again()
    assert everything(worker.path) == [opened(ONE), closed(ONE, error=f"{INCOMPLETE}; what upstream said")]


@pytest.mark.parametrize("refuses", [True, False])
def test_a_stream_that_could_not_be_written_may_go_on_only_where_that_is_asked_for(
    tmp_path: Path, refuses: bool
) -> None:
    worker = journal_of(tmp_path, [opened(ONE), opened(TWO)], Limits(2**40, 3600.0, refuses))
    with disk_of(600):
        worker.append(received(ONE, [BIG]))
        worker.flush()
    assert (worker.has_lost(ONE), worker.has_lost(TWO)) == (refuses, False)
    worker.append(closed(ONE))
    worker.flush()
    assert not worker.has_lost(ONE)


@pytest.mark.parametrize("comes_back", [False, True])
def test_where_its_folder_was_removed_nothing_more_is_taken_for_recorded(tmp_path: Path, comes_back: bool) -> None:
    """Writing still succeeds, into a file that nobody can find any more."""
    root = tmp_path / "journal"
    worker = journal_of(root, [opened(ONE)])
    shutil.rmtree(root)
    if comes_back:
        journal_of(root, [])  # of another server, which made the folder anew
    worker.try_again()
    worker.append(received(ONE, [b"a"]))
    worker.flush()
    worker.try_again()
    why = "its folder was removed; streamviz has to be restarted"
    assert (worker.why_refused(), worker.has_lost(ONE)) == (f"the journal cannot be written to ({why})", True)


def test_while_nothing_can_be_written_no_stream_may_begin(tmp_path: Path) -> None:
    """As when a disk has failed: there is space on it, but every new stream would end in an error."""
    worker = journal_of(tmp_path, [opened(ONE)])
    with disk_of(0):
        worker.append(received(ONE, [b"a"]))
        worker.flush()
        worker.try_again()
        assert worker.why_refused() == "the journal cannot be written to (File too large)"
    worker.try_again()
    assert worker.why_refused() == ""
    worker.append(opened(TWO))
    worker.flush()
    assert everything(worker.path) == [opened(ONE), opened(TWO)]


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process can open no more files for the duration of the block.

    The limit is not 0, which would make `poll` fail in all threads, including those of a server that other tests use.
    """
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_out_of_descriptors_it_goes_on_in_the_segment_that_is_open_ahead_and_then_in_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    entries: list[AnyEntry] = [opened(ONE), *(received(ONE, [b"x"], n) for n in range(4))]
    worker = journal_of(tmp_path, entries[:1])
    with no_more_files():
        for entry in entries[1:4]:
            worker.append(entry)
            worker.flush()
    assert worker.left_out == 0
    assert folder.segments(worker.path) == [1, 2]
    worker.append(entries[4])
    worker.flush()
    assert folder.segments(worker.path) == [1, 2, 3]
    assert everything(worker.path) == entries
    worker.close()
    assert sorted(path.name for path in worker.path.iterdir()) == [
        *(f"000000000{n}.records" for n in (1, 2, 3)),
        folder.LOCK,
    ]


def test_a_stream_that_was_never_in_it_is_not_closed_there_either(tmp_path: Path) -> None:
    worker = Journal(tmp_path, ROOM)
    with disk_of(10):
        for entry in (opened(ONE), closed(ONE)):
            worker.append(entry)
        worker.flush()
    worker.append(opened(TWO))
    worker.close()
    assert everything(worker.path) == [opened(TWO)]


@pytest.mark.parametrize("refuses", [True, False])
def test_a_stream_that_begins_again_when_there_is_no_room_was_begun_and_is_closed(
    tmp_path: Path, refuses: bool
) -> None:
    """A request that a policy changes, or that waits for one, is recorded again once it is settled."""
    worker = journal_of(tmp_path, [opened(ONE, request=b"")], Limits(2**40, 3600.0, refuses))
    with disk_of(10):
        worker.append(opened(ONE))
        worker.flush()
        worker.append(closed(ONE))
        worker.flush()
    worker.flush()
    assert everything(worker.path) == [opened(ONE, request=b""), closed(ONE, error=INCOMPLETE)]


def test_at_its_limit_it_records_what_a_running_stream_s_request_became(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_MEASURE_SECONDS", 0)
    entries: list[AnyEntry] = [opened(ONE, request=b""), opened(ONE), closed(ONE)]
    worker = journal_of(tmp_path, entries[:1], Limits(1, 3600.0, refuses=False))
    for entry in entries[1:]:
        worker.append(entry)
    worker.close()
    assert everything(worker.path) == entries


def test_what_is_owed_is_told_at_the_latest_when_it_closes(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [opened(ONE)])
    with disk_of(300):
        worker.append(received(ONE, [BIG]))
        worker.flush()
        worker.append(closed(ONE))
        worker.flush()
    worker.close()
    [_, end] = everything(worker.path)
    assert isinstance(end, StreamClosed)
    assert end.error == INCOMPLETE


def full(refuses: bool) -> Limits:
    return Limits(most_bytes=0, most_seconds=3600.0, refuses=refuses)


def test_at_its_limit_it_refuses_new_streams_and_records_the_running_ones(tmp_path: Path) -> None:
    journal_of(tmp_path, [opened(ONE)]).close()
    worker = journal_of(tmp_path, [opened(TWO)], full(refuses=True))
    assert worker.why_refused() == "the journal takes 0 MiB"
    worker.append(closed(TWO))
    worker.flush()
    assert everything(worker.path) == [opened(TWO), closed(TWO)]


def test_at_its_limit_it_begins_a_new_segment_so_that_the_old_one_can_go(tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [opened(ONE)], full(refuses=True))
    assert folder.segments(worker.path) == [1]
    assert worker.why_refused()
    assert worker.why_refused()
    assert folder.segments(worker.path) == [1, 2]


def test_a_full_journal_lets_new_streams_go_on_unrecorded_where_that_is_set(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal_of(tmp_path, [opened(ONE)]).close()
    worker = journal_of(tmp_path, [], full(refuses=False))
    assert worker.why_refused() == ""
    worker.append(opened(TWO))
    worker.append(received(TWO, [b"a"]))
    worker.flush()
    assert worker.left_out == 1
    assert "continue unrecorded: the journal takes" in caplog.text
    worker.append(closed(TWO))
    worker.flush()
    assert worker.left_out == 0
    assert everything(worker.path) == []
