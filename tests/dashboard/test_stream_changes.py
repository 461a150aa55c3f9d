"""What people attach to a stream: stars, notes and labels, and how they find it again."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import connections

from streamviz.records.database import conninfo
from streamviz.records.ids import first_id
from streamviz.records.models import Annotation, Session, Stream
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import stream_page
from streamviz.records.retention import Retaining
from streamviz.records.rules import Retention
from tests.dashboard.conftest import NOON, Cast, recorded
from tests.dashboard.test_backtests_at_once import WAITING
from tests.e2e.proxied import until

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def stream(cast: Cast) -> Stream:
    return recorded("nightly", id=first_id(NOON + timedelta(seconds=1)))


def keep(cast: Cast, stream: Stream, **told: str) -> None:
    for what in ("star", "note"):
        assert cast["alice"].post(f"/streams/{stream.pk}/{what}/", told).status_code == 302


def found(cast: Cast, written: str) -> bool:
    return "row-link" in cast["bob"].get("/sessions/", {"range": "all", "q": written}).content.decode()


def test_a_star_a_note_and_labels_are_kept_shown_and_logged(cast: Cast, stream: Stream) -> None:
    keep(cast, stream, starred="yes", note=HOSTILE, labels=f"flaky, {HOSTILE},flaky ,,")
    assert Annotation.objects.get().labels == ["flaky", HOSTILE]
    for path in (f"/streams/{stream.pk}/", f"/sessions/{stream.session_id}/", "/sessions/?range=all"):
        page = cast["bob"].get(path).content.decode()
        assert 'class="star"' in page
        assert "flaky" in page
        assert "&lt;script&gt;" in page
        assert HOSTILE not in page
    assert [str(each.user) for each in LogEntry.objects.all()] == ["alice"] * 2
    keep(cast, stream, starred="no")
    assert "flaky" not in cast["bob"].get(f"/streams/{stream.pk}/").content.decode()


def test_labels_that_were_given_and_taken_away_meanwhile_stay_so(cast: Cast, stream: Stream) -> None:
    Annotation.objects.create(stream=stream, labels=["flaky", "theirs"])
    told = {"seen_labels": "flaky, slow", "labels": "slow, mine"}
    keep(cast, stream, **told)
    assert Annotation.objects.get().labels == ["theirs", "mine"]


def test_imported_labels_that_the_form_reads_otherwise_can_be_taken_away(cast: Cast, stream: Stream) -> None:
    Annotation.objects.create(stream=stream, labels=["one, two", "three  four", "five"])
    keep(cast, stream, seen_labels="one, two, three  four, five", labels="two, five")
    assert Annotation.objects.get().labels == ["two", "five"]


def test_labels_can_be_changed_beside_a_note_of_two_windows_texts(cast: Cast, stream: Stream) -> None:
    Annotation.objects.create(stream=stream, note="a" * 2000)
    keep(cast, stream, seen="", note="b" * 2000)
    both = Annotation.objects.get().note
    assert len(both) == 4002
    keep(cast, stream, seen=both, note=both, labels="flaky")
    assert Annotation.objects.get().labels == ["flaky"]
    keep(cast, stream, seen=both, note=f"{both}c", labels="slow")
    assert (Annotation.objects.get().labels, Annotation.objects.get().note) == (["flaky"], both)


@pytest.mark.django_db(transaction=True)
def test_two_first_notes_at_the_same_moment_are_both_kept(cast: Cast, stream: Stream) -> None:
    def note(name: str) -> None:
        try:
            cast[name].post(f"/streams/{stream.pk}/note/", {"seen": "", "note": f"{name}'s", "seen_labels": ""})
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool, psycopg.connect(conninfo()) as holder:
        holder.execute("LOCK TABLE records_annotation IN SHARE MODE")  # they can look for a note, but not insert one
        noting = [pool.submit(note, name) for name in ("alice", "administrator")]
        until(lambda: holder.execute(WAITING).fetchone() == (2,))
        holder.rollback()
        for each in noting:
            each.result()
    assert sorted(Annotation.objects.get().note.split("\n\n")) == ["administrator's", "alice's"]


@pytest.mark.parametrize("what", ["star", "note"])
def test_who_changes_something_stays_where_they_were(cast: Cast, stream: Stream, what: str) -> None:
    path = f"/streams/{stream.pk}/"
    assert f'action="{path}{what}/?at=100"' in cast["alice"].get(f"{path}?at=100").content.decode()
    for note in ("fine", "x" * 2001):
        answer = cast["alice"].post(f"{path}{what}/?at=100", {"starred": "yes", "note": note})
        assert answer["location"] == f"{path}?at=100"


@pytest.mark.parametrize(("tab", "place"), [("tapes", "?row=3"), ("chunks", "?from=5"), ("request", "")])
def test_who_changes_something_stays_at_their_tab(cast: Cast, stream: Stream, tab: str, place: str) -> None:
    path = f"/streams/{stream.pk}/"
    page = cast["alice"].get(f"{path}{tab}/{place}").content.decode()
    for what in ("star", "note"):
        form = page[page.index(f'action="{path}{what}/{place}"') :]
        [name] = re.findall(r'name="tab" value="(\w+)"', form[: form.index("</form>")])
        answer = cast["alice"].post(f"{path}{what}/{place}", {"starred": "yes", "tab": name})
        assert answer["location"] == f"{path}{tab}/{place}"
    for elsewhere in ("replay", "live", "//example.com"):
        answer = cast["alice"].post(f"{path}star/", {"starred": "yes", "tab": elsewhere})
        assert answer["location"] == path


def test_a_stream_is_found_by_its_star_note_and_labels(cast: Cast, stream: Stream) -> None:
    recorded("another")
    keep(cast, stream, starred="yes", note="Ask the provider", labels="flaky, slow start")
    for written in ("starred:yes", "label:flak*", 'label:"slow start"', 'note:"the prov"'):
        assert found(cast, written), written
        assert len(stream_page(Filters(labels=("flaky",)), None, 9).ids) == 1
    for written in ("label:other", "note:nothing"):
        assert not found(cast, written), written
    assert stream.pk not in stream_page(Filters(starred=False), None, 9).ids
    Session.objects.update(is_starred=True)
    assert len(stream_page(Filters(starred=True), None, 9).ids) == 2


@pytest.mark.parametrize("told", [{"note": "x" * 2001}, {"note": "a\x00b"}, {"labels": "x" * 401}])
def test_a_note_that_cannot_be_kept_is_refused_in_words(cast: Cast, stream: Stream, told: dict[str, str]) -> None:
    answer = cast["alice"].post(f"/streams/{stream.pk}/note/", told, follow=True)
    assert 'class="notice notice-deny">' in answer.content.decode()
    assert not Annotation.objects.exists()


def test_a_star_keeps_a_stream_and_what_is_kept_goes_with_it(cast: Cast, stream: Stream) -> None:
    other = recorded("another", id=first_id(NOON))
    keep(cast, stream, starred="yes")
    Annotation.objects.create(stream=other, note="gone soon")
    Retaining(Retention(chunk_days=0, stream_days=1, kept_days=0), NOON + timedelta(days=9)).apply(lambda _: None)
    assert list(Stream.objects.values_list("pk", flat=True)) == [stream.pk]
    assert list(Annotation.objects.values_list("pk", flat=True)) == [stream.pk]
