"""The System page: what is waiting, which writer moves it, how large the record is, what retention did."""

import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.conf import LazySettings
from django.utils import timezone

from streamviz.dashboard.views import system
from streamviz.live.fleet_members import Journal, Member, Writer
from streamviz.live.presentation.figures import byte_size
from streamviz.live.publisher import publisher
from streamviz.live.subscriber import Subscriber
from streamviz.records.database import conninfo
from streamviz.records.journal import folder
from streamviz.records.journal.room import Limits
from streamviz.records.journal.usage import usage
from streamviz.records.models import RetentionRun
from streamviz.records.rules import Retention
from tests.dashboard.conftest import Cast
from tests.live.test_fleet import member
from tests.records.support import journal_of, opened
from tests.records.test_backlog import say

NOBODY = "No writer is running"
LIMIT = "The journal is full: the journal takes 0 MiB."


@pytest.fixture(autouse=True)
def journals(settings: LazySettings, tmp_path: Path) -> Iterator[Path]:
    """A worker's journal that no writer moves."""
    settings.JOURNAL_DIR = tmp_path
    with closing(journal_of(tmp_path, [opened(uuid.uuid4(), request=b"x" * 5000)])):
        yield tmp_path


def page(cast: Cast) -> str:
    return str(cast["bob"].get("/system/").content.decode())


def test_it_says_what_waits_and_that_nobody_moves_it(cast: Cast, journals: Path) -> None:
    shown = page(cast)
    assert f"<dt>Journal</dt><dd>{byte_size(usage(journals).size)}</dd>" in shown
    assert "<dt>Writer lag</dt><dd>–</dd>" in shown
    assert NOBODY in shown
    assert LIMIT not in shown


def test_it_says_how_far_behind_the_writer_is_and_why(cast: Cast, journals: Path) -> None:
    now = time.time()
    say(journals, at=now, caught_up_at=now - 29.5, trouble="<no room>")
    with folder.open_locked(journals / folder.WRITER_LOCK):
        shown = page(cast)
    assert "<dt>Writer lag</dt><dd>29.5 s</dd>" in shown
    assert "The database says: &lt;no room&gt;" in shown
    assert NOBODY not in shown


@pytest.mark.parametrize("are_away", [True, False])
def test_it_says_that_other_servers_are_missing(cast: Cast, monkeypatch: pytest.MonkeyPatch, are_away: bool) -> None:
    monkeypatch.setattr(publisher.wall, "are_others_away", are_away)
    monkeypatch.setattr(Subscriber, "dropped_of_all", 0)
    shown = page(cast)
    assert ("Live figures are for this server only" in shown) == are_away
    assert ("<dd>0 here</dd>" in shown) == are_away
    assert ("0+" in shown) == are_away


def test_it_shows_each_process_and_what_is_wrong_with_it(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Event loop lag" not in page(cast)  # not shown if no process reports it
    journal = Journal(5000, 61.0, Writer(99, "2.0", 0), ["<it> waits"])
    here = member(12, servers=2, troubles=["<late>"], loop_lag=1.5, streams=1234, journal=journal)
    there = member(13, "b", is_ready=False, version="<v>", journal=journal)
    monkeypatch.setattr(publisher, "itself", lambda: here)
    monkeypatch.setattr(publisher, "peers", Heard([there, member(14, "b", "screens", watchers=7)]))
    shown = page(cast)
    for words in ("host-a", "host-b", "Websockets", "1,234", "1.50 s", "1 m 1 s behind", "1 of 2 servers respond"):
        assert words in shown
    assert shown.count("server 12: &lt;late&gt;") == 1
    assert shown.count("<small>serves this page</small>") == 1
    assert shown.count("&lt;it&gt; waits") == 1  # for the other machine; this one's journal is described separately
    assert [shown.count(f"</svg>{state}</span>") for state in ("Ready", "Degraded", "Not ready")] == [1, 3, 1]
    assert "Several versions run: 1, 2.0, &lt;v&gt;." in shown


class Heard:
    """The other workers, with all that this page asks about them."""

    are_workers = True

    def __init__(self, members: list[Member]) -> None:
        self.counts = SimpleNamespace(asking=0, newest_ask=0, dropped=0, members=members)


@pytest.mark.parametrize(("refuses", "what"), [(True, "are refused"), (False, "continue unrecorded")])
def test_it_says_what_a_full_journal_means(cast: Cast, settings: LazySettings, refuses: bool, what: str) -> None:
    settings.JOURNAL_LIMITS = Limits(1, 3600.0, refuses)
    assert f"{LIMIT} New streams {what}." in page(cast)


def test_it_says_how_much_was_left_out_for_slow_browsers(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subscriber, "dropped_of_all", 1234)
    assert "<dt>Live updates dropped</dt><dd>1,234</dd>" in page(cast)


def test_it_says_that_a_writer_hangs_and_waits_for_no_lock_itself(cast: Cast, journals: Path) -> None:
    say(journals, at=time.time() - 60)
    with folder.open_locked(journals / folder.WRITER_LOCK), psycopg.connect(conninfo()) as other:
        other.execute("LOCK TABLE records_stream IN ACCESS EXCLUSIVE MODE")
        shown = page(cast)
    assert "The journal is not being emptied into the database: the writer has not responded for 6" in shown
    assert "Table sizes are unavailable" in shown
    assert "<dt>Database</dt><dd>–</dd>" in shown


def test_it_names_commands_as_they_are_called_here(cast: Cast, journals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (journals / "refused").mkdir()
    (journals / "refused" / f"{uuid.uuid4()}.segment").touch()
    monkeypatch.setattr(system, "COMMAND", "streamviz")  # where the package is installed
    said = page(cast)
    assert "Start <code>streamviz write</code>." in said
    assert "<code>streamviz store_again</code> stores it." in said


def test_it_counts_what_was_set_aside(cast: Cast, journals: Path) -> None:
    (journals / "refused").mkdir()
    (journals / "refused" / f"{uuid.uuid4()}.segment").touch()
    assert "1 stream could not be stored and was set aside" in page(cast)


def test_it_says_what_was_damaged_and_what_upkeep_cannot_do(cast: Cast, journals: Path) -> None:
    (folder.private_folder(journals / folder.DAMAGED) / f"{uuid.uuid4()}-0000000001.records").touch()
    say(journals, upkeep="<lock> timeout")
    with folder.open_locked(journals / folder.WRITER_LOCK):
        shown = page(cast)
    assert "1 segment of the journal was damaged and is kept" in shown
    assert "Table maintenance" in shown
    assert "&lt;lock&gt; timeout" in shown


def test_it_shows_tables_and_what_retention_did(cast: Cast, settings: LazySettings) -> None:
    settings.RETENTION = Retention(chunk_days=14, stream_days=1, kept_days=0)
    shown = page(cast)
    for words in ("records_upstreamrun", "records_block", "14 days", "1 day<", "forever", "<dd>–</dd>"):
        assert words in shown
    at = timezone.now() - timedelta(hours=3)
    RetentionRun.objects.create(started_at=at + timedelta(days=400))  # by a clock that was ahead
    freed = [{"rule": "chunks", "what": "day 2026-09-01", "number": 1, "size": 5 << 20}]
    RetentionRun.objects.create(started_at=at, freed=freed)
    shown = page(cast)
    assert "3 h ago" in shown
    assert "chunks: day 2026-09-01" in shown
    assert "5.2 MB" in shown
