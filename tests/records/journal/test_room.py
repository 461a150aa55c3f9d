"""When a machine's journals count as full."""

import os
import time
import uuid
from pathlib import Path

import pytest

from streamviz.records.journal import folder, journal, room
from streamviz.records.journal.room import Limits, Room, why_full
from streamviz.records.journal.usage import usage
from tests.records.support import ROOM, journal_of, opened

ONE = uuid.UUID(int=1)


def test_a_folder_that_is_not_there_takes_no_room(tmp_path: Path) -> None:
    assert usage(tmp_path / "not there").size == 0
    assert why_full(tmp_path, ROOM) == ""


def test_the_journals_of_all_workers_count(tmp_path: Path) -> None:
    sizes = [folder.segment(journal_of(tmp_path, [opened(ONE)]).path, 1).stat().st_size for _ in range(2)]
    assert usage(tmp_path).size == sum(sizes)
    assert why_full(tmp_path, Limits(sum(sizes) - 1, 60.0, refuses=True)) == "the journal takes 0 MiB"
    assert why_full(tmp_path, Limits(sum(sizes), 60.0, refuses=True)) == ""


def test_an_old_segment_counts_but_not_the_newest_of_an_idle_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = journal_of(tmp_path, [opened(ONE)])
    long_ago = time.time() - 7200
    os.utime(folder.segment(worker.path, 1), (long_ago, long_ago))
    assert usage(tmp_path).age < 60
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    worker.append(opened(ONE))
    worker.flush()
    os.utime(folder.segment(worker.path, 1), (long_ago, long_ago))
    assert (
        why_full(tmp_path, Limits(2**40, 3600.0, refuses=True))
        == "the oldest entry in the journal has waited for 2.0 hours"
    )


def test_a_disk_is_full_before_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "RESERVE_BYTES", 2**62)
    assert why_full(tmp_path, ROOM) == "the journal's disk is full"


def test_the_size_of_the_journals_is_measured_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Room(tmp_path, Limits(0, 60.0, refuses=True))
    assert measured.why_full() == ""
    journal_of(tmp_path, [opened(ONE)])
    assert measured.why_full() == ""
    monkeypatch.setattr(room, "_MEASURE_SECONDS", 0.0)
    assert measured.why_full() == "the journal takes 0 MiB"
