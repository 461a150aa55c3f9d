"""Who may read journals, and foreign files in their folder."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamviz.records.database import conninfo
from streamviz.records.journal import folder
from streamviz.records.journal.journal import Journal
from streamviz.records.recorder import AnyEntry
from streamviz.records.writer.pending import Batch, Pending
from streamviz.records.writer.process import Writer
from streamviz.records.writer.refused import set_aside
from streamviz.records.writer.status import Status
from tests.records.conftest import Query
from tests.records.support import ROOM, closed, journal_of, move, opened

ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture(params=[0o000, 0o022, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(root: Path) -> list[Path]:
    """What other users could read, list or write."""
    return [path for path in [root, *root.rglob("*")] if path.stat().st_mode & 0o077]


def fill(root: Path) -> Journal:
    """Create one of everything."""
    worker = journal_of(root, [opened(ONE)])
    set_aside(root, Batch(ONE, uuid.UUID(int=2), entries=[opened(ONE)]), "a test")
    Status(root).failed("a test")
    (folder.private_folder(root / folder.DAMAGED) / "x.records").touch(0o600)
    return worker


def test_a_journal_is_its_owners_alone(tmp_path: Path, umask: None) -> None:
    root = tmp_path / "journal"
    fill(root)
    assert len(list(root.rglob("*"))) >= 9
    assert open_to_others(root) == []
    assert root.stat().st_mode & 0o700 == 0o700


def test_what_others_could_read_is_mended_at_a_start(tmp_path: Path) -> None:
    root = tmp_path / "journal"
    fill(root).close()
    for path in [root, *root.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    Journal(root, ROOM).close()
    assert open_to_others(root) == []


def test_what_is_none_of_ours_is_left_alone_and_stops_nobody(query: Query, tmp_path: Path) -> None:
    worker = journal_of(tmp_path, [opened(ONE), closed(ONE)])
    named = tmp_path / str(uuid.uuid4())
    named.mkdir()
    foreign = [
        *(tmp_path / "notes.txt", tmp_path / str(uuid.uuid4()), named / "photo.jpg", named / "0000000001.records"),
        *(worker.path / "backup.records", worker.path / "1.segment", worker.path / "\u0661\u0662.records"),
    ]
    for path in foreign:
        path.write_text("mine")
    (worker.path / "0000000009.records").mkdir()
    worker.close()
    writer = Writer(tmp_path, conninfo)
    writer.turn()
    writer.finish()
    assert query("SELECT outcome FROM records_stream") == [("completed",)]
    assert [path.read_text() for path in foreign] == ["mine"] * len(foreign)
    assert folder.journals(tmp_path) == []


def test_a_journal_that_cannot_be_read_keeps_no_other_from_being_moved(
    query: Query, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = journal_of(tmp_path, [])
    folder.segment(broken.path, 1).unlink()
    folder.segment(broken.path, 1).symlink_to("/proc/self/mem")  # reading its first bytes fails, even for root
    journal_of(tmp_path, [opened(ONE), closed(ONE)])
    writer = Writer(tmp_path, conninfo)
    for _ in range(2):
        writer.turn()
    writer.finish()
    assert query("SELECT outcome FROM records_stream") == [("completed",)]
    assert caplog.text.count(f"{broken.path.name} cannot be read") == 1


def test_a_journal_of_which_something_is_not_understood_keeps_no_other_from_being_moved(
    query: Query, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Pending.add

    def fail(pending: Pending, entry: AnyEntry, segment: int) -> None:
        if entry.stream_id == TWO:
            raise LookupError("odd")
        add(pending, entry, segment)

    monkeypatch.setattr(Pending, "add", fail)
    odd, _ = journal_of(tmp_path, [opened(TWO), closed(TWO)]), journal_of(tmp_path, [opened(ONE), closed(ONE)])
    writer = Writer(tmp_path, conninfo)
    for _ in range(3):
        writer.turn()
    assert query("SELECT id, outcome FROM records_stream") == [(ONE, "completed")]
    assert caplog.text.count(f"{odd.path.name} cannot be moved") == 1
    monkeypatch.undo()
    move(tmp_path)
    assert query("SELECT id, outcome FROM records_stream ORDER BY id") == [(ONE, "completed"), (TWO, "completed")]
