"""What waits for Postgres on this machine, as reported to pages and probes."""

import os
import time
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streamviz.records.backlog import NOBODY, Watch, backlog
from streamviz.records.journal import folder
from streamviz.records.journal.room import Limits
from streamviz.records.writer.status import WriterStatus
from tests.records.support import ROOM, journal_of, opened


def say(root: Path, **status: Any) -> None:
    """Write a writer's status file."""
    usual: dict[str, Any] = {"pid": 1, "at": time.time(), "caught_up_at": time.time(), "trouble": ""}
    (root / folder.WRITER_STATUS).write_bytes(msgspec.json.encode(WriterStatus(**usual | status)))


def test_where_nothing_ever_ran_nothing_is_known(tmp_path: Path) -> None:
    found = backlog(tmp_path / "not there", ROOM)
    assert (found.size, found.lag, found.is_moved, found.trouble, found.full, found.set_aside) == (
        *(0, None, False, "", ""),
        0,
    )
    assert found.lag_microseconds is None


def test_it_has_the_size_of_all_journals_and_which_limit_is_reached(tmp_path: Path) -> None:
    sizes = [folder.segment(journal_of(tmp_path, [opened(uuid.uuid4())]).path, 1).stat().st_size for _ in range(2)]
    assert backlog(tmp_path, ROOM).size == sum(sizes)
    assert backlog(tmp_path, ROOM).full == ""
    assert backlog(tmp_path, Limits(1, 60.0, refuses=True)).full == "the journal takes 0 MiB"


def test_a_journal_whose_disk_is_broken_says_so(tmp_path: Path) -> None:
    journal = journal_of(tmp_path, [opened(uuid.uuid4())])
    segment = folder.segment(journal.path, 1)
    segment.unlink()
    segment.symlink_to(segment.name)  # which the system refuses to follow
    found = backlog(tmp_path, ROOM)
    assert (found.full, found.size) == ("the journal cannot be read (Too many levels of symbolic links)", 0)
    assert journal.why_refused() == found.full


def test_while_a_writer_runs_the_lag_is_what_it_says(tmp_path: Path) -> None:
    now = time.time()
    say(tmp_path, at=now, caught_up_at=now - 29.5, trouble="no room")
    with folder.open_locked(tmp_path / folder.WRITER_LOCK):
        found = backlog(tmp_path, ROOM)
    assert found.lag is not None
    assert (found.is_moved, round(found.lag, 3), found.trouble) == (True, 29.5, "no room")


def test_when_the_writer_is_gone_the_lag_grows(tmp_path: Path) -> None:
    say(tmp_path, at=time.time() - 100, caught_up_at=time.time() - 100, trouble="no room")
    found = backlog(tmp_path, ROOM)
    assert not found.is_moved
    assert found.lag is not None
    assert found.lag >= 100
    # It was reported before the writer ended, which reports nothing any more.
    assert found.trouble == ""


def test_a_file_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / folder.WRITER_STATUS).write_text("{")
    assert backlog(tmp_path, ROOM).lag is None


def test_a_writer_that_hangs_is_told_from_its_silence_and_from_what_waits(tmp_path: Path) -> None:
    now = time.time()
    journal = journal_of(tmp_path, [opened(uuid.uuid4())])
    segment = folder.segment(journal.path, 1)
    cases = [
        ({"at": now, "caught_up_at": now}, now - 100, ""),
        ({"at": now - 5, "caught_up_at": now - 5}, now, ""),
        ({"at": now, "caught_up_at": now - 100}, now - 200, ""),  # nothing new since
        ({"at": now, "caught_up_at": now - 20}, now, ""),  # much arrived, and is being moved
        ({"at": now, "caught_up_at": now - 100}, now, "the writer is behind: data has waited for 100 s"),
        ({"at": now, "caught_up_at": now - 5, "trouble": "away"}, now, ""),
        (
            {"at": now, "caught_up_at": now - 20, "trouble": "away"},
            now,
            "the writer cannot write to Postgres: data has waited for 20 s",
        ),
        ({"at": now - 100, "caught_up_at": now - 100}, now - 200, "the writer has not responded for 100 s"),
    ]
    for status, written_at, stuck in cases:
        say(tmp_path, **status)
        os.utime(segment, (written_at, written_at))
        with folder.open_locked(tmp_path / folder.WRITER_LOCK):
            assert backlog(tmp_path, ROOM).stuck.split(";")[0] == stuck
    assert backlog(tmp_path, ROOM).stuck == NOBODY
    # If `up` is running, a second writer would only be told that one is already running.
    assert NOBODY.endswith("write` (`up` starts one too)")


def test_a_clock_that_was_set_back_makes_nobody_hang(tmp_path: Path) -> None:
    now = time.time()
    journal = journal_of(tmp_path, [opened(uuid.uuid4())])
    os.utime(folder.segment(journal.path, 1), (now + 3600, now + 3600))
    say(tmp_path, at=now, caught_up_at=now)
    with folder.open_locked(tmp_path / folder.WRITER_LOCK):
        assert backlog(tmp_path, ROOM).stuck == ""


def test_the_log_says_once_that_nobody_moves_it_and_when_somebody_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    say(tmp_path)
    watch = Watch()
    for _ in range(3):
        watch.look(backlog(tmp_path, ROOM))
    with folder.open_locked(tmp_path / folder.WRITER_LOCK):
        for _ in range(2):
            watch.look(backlog(tmp_path, ROOM))
    assert caplog.messages == [
        f"the journal is not being emptied, 0.0 MiB waiting: {NOBODY}",
        "the journal is being emptied again",
    ]
