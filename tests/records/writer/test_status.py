"""What the writer reports about itself: in its file, and in the log when it falls behind."""

import logging
import time
from pathlib import Path

import pytest

from streamviz.records.writer.status import LAG_SECONDS, Status, writer_status


@pytest.fixture(autouse=True)
def level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def long_ago() -> float:
    return time.time() - LAG_SECONDS - 5


def test_it_has_caught_up_when_a_round_left_nothing(tmp_path: Path) -> None:
    status = Status(tmp_path)
    status.moved(123.0, is_behind=False)
    found = writer_status(tmp_path)
    assert found is not None
    assert found.caught_up_at == 123.0
    status = Status(tmp_path)
    status.moved(456.0, is_behind=True)
    found = writer_status(tmp_path)
    assert found is not None
    assert found.caught_up_at > 456.0


def test_it_says_once_that_it_is_behind_and_once_that_it_is_not_any_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    status = Status(tmp_path)
    status.moved(time.time(), is_behind=False)
    assert caplog.messages == []
    status.moved(long_ago(), is_behind=False)
    status.moved(time.time(), is_behind=True)
    assert caplog.messages == ["the writer is 15 s behind; 0.0 MiB are waiting in the journal"]
    status.moved(time.time(), is_behind=False)
    status.moved(time.time(), is_behind=False)
    assert caplog.messages[1:] == ["the writer has caught up"]


def test_it_says_when_nothing_can_be_stored_and_when_it_can_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    status = Status(tmp_path)
    status.failed("no room\nand more")
    status.failed("no room")
    found = writer_status(tmp_path)
    assert found is not None
    assert found.trouble == "no room"
    status.moved(time.time(), is_behind=False)
    assert caplog.messages == [
        "Postgres cannot be written to; streams are kept in the journal: no room",
        "Postgres can be written to again",
    ]


def test_it_says_how_much_waits_while_nothing_can_be_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    status = Status(tmp_path)
    status.moved(long_ago(), is_behind=False)
    caplog.clear()
    status = Status(tmp_path)
    status.moved(long_ago(), is_behind=False)
    status.failed("no room")
    assert [message for message in caplog.messages if "behind" in message] == [
        "the writer is 15 s behind; 0.0 MiB are waiting in the journal"
    ]


def test_a_full_disk_does_not_stop_it(tmp_path: Path) -> None:
    status = Status(tmp_path / "not there")
    status.moved(time.time(), is_behind=False)
    assert writer_status(tmp_path / "not there") is None


def test_a_clock_that_is_set_back_does_not_keep_it_from_speaking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamviz.records.writer.status._WRITE_SECONDS", 0.0)
    status = Status(tmp_path)
    status.moved(time.time(), is_behind=False)
    there = time.time()
    monkeypatch.setattr(time, "time", lambda: there - 86_400)
    status.moved(there - 86_400, is_behind=False)
    found = writer_status(tmp_path)
    assert found is not None
    assert (found.at, found.caught_up_at) == (there - 86_400, there - 86_400)
