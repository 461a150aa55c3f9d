"""What waits for Postgres on this machine, as pages and probes are told."""

import time
import uuid
from pathlib import Path
from typing import Any

import msgspec

from streamviz.records.backlog import backlog
from streamviz.records.journal import folder
from streamviz.records.journal.room import Limits
from streamviz.records.writer.process import LOCK
from streamviz.records.writer.status import FILE, WriterStatus
from tests.records.support import ROOM, journal_of, opened


def say(root: Path, **status: Any) -> None:
    """What a writer left in its file."""
    usual: dict[str, Any] = {"pid": 1, "at": time.time(), "caught_up_at": time.time(), "trouble": ""}
    (root / FILE).write_bytes(msgspec.json.encode(WriterStatus(**usual | status)))


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


def test_while_a_writer_runs_the_lag_is_what_it_says(tmp_path: Path) -> None:
    say(tmp_path, at=1_000.0, caught_up_at=970.5, trouble="no room")
    with folder.open_locked(tmp_path / LOCK):
        found = backlog(tmp_path, ROOM)
    assert (found.is_moved, found.lag, found.lag_microseconds, found.trouble) == (True, 29.5, 29_500_000, "no room")


def test_when_the_writer_is_gone_the_lag_grows(tmp_path: Path) -> None:
    say(tmp_path, at=time.time() - 100, caught_up_at=time.time() - 100, trouble="no room")
    found = backlog(tmp_path, ROOM)
    assert not found.is_moved
    assert found.lag is not None
    assert found.lag >= 100
    # It said so before it ended, and it says nothing any more.
    assert found.trouble == ""


def test_a_file_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    assert backlog(tmp_path, ROOM).lag is None
