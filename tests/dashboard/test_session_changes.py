"""Changing a session: starring it, adding notes, exporting and deleting it."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry

from streamviz.records.exporting import export
from streamviz.records.models import Session, Stream
from tests.dashboard.conftest import Cast, recorded

HOSTILE = "<script>alert(1)</script>\n\u202esecond line"


@pytest.fixture
def path(cast: Cast) -> str:
    return f"/sessions/{recorded('nightly').session_id}/"


def log() -> list[tuple[str, str, str]]:
    return [(str(each.user), each.object_repr, each.change_message) for each in LogEntry.objects.order_by("pk")]


def test_a_star_is_given_and_taken_away_and_logged(cast: Cast, path: str) -> None:
    for starred in ("yes", "no"):
        assert cast["alice"].post(f"{path}star/", {"starred": starred}).status_code == 302
        assert Session.objects.get().is_starred is (starred == "yes")
        listed = cast["bob"].get("/sessions/?range=all").content.decode()
        assert ('class="star"' in listed) is (starred == "yes")
    assert [(who, what) for who, _, what in log()] == [("alice", "starred"), ("alice", "no longer starred")]


def test_a_note_is_kept_and_shown_as_text(cast: Cast, path: str) -> None:
    cast["alice"].post(f"{path}note/", {"note": HOSTILE})
    for who in ("alice", "bob"):
        shown = cast[who].get(path).content.decode()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;<br>⟨U+202E⟩second line" in shown
        assert "<script>alert" not in shown
    cast["alice"].post(f"{path}note/", {"note": ""})
    assert Session.objects.get().note == ""


@pytest.mark.parametrize(
    ("now", "note", "kept"),
    [
        ("old\nnote", "new", "new"),
        ("other", "new", "other\n\nnew"),
        ("other", "old\r\nnote", "other"),
        ("other", "", "other"),
        ("", "new", "new"),
        ("new", "new", "new"),
    ],
)
def test_a_note_that_was_changed_meanwhile_is_not_lost(cast: Cast, path: str, now: str, note: str, kept: str) -> None:
    Session.objects.update(note=now)
    answer = cast["alice"].post(f"{path}note/", {"seen": "old\r\nnote", "note": note}, follow=True)
    assert Session.objects.get().note == kept
    for words, is_so in (("Both texts were kept.", kept == "other\n\nnew"), ("It was not removed.", not note)):
        assert (words in answer.content.decode()) is is_so


@pytest.mark.parametrize("what", ["star", "note"])
def test_who_changes_something_stays_where_they_were(cast: Cast, path: str, what: str) -> None:
    shown = cast["alice"].get(f"{path}?turn=1&q=x%26y").content.decode()
    to = f"{path}{what}/?turn=1&q=x%26y"
    assert f'action="{to.replace("&", "&amp;")}"' in shown
    for note in ("fine", "x" * 2001):
        answer = cast["alice"].post(to, {"starred": "yes", "note": note})
        assert answer["location"] == f"{path}?turn=1&q=x%26y"


@pytest.mark.parametrize("note", ["x" * 2001, "a\x00b"])
def test_a_note_that_cannot_be_kept_is_said(cast: Cast, path: str, note: str) -> None:
    Session.objects.update(note="before")
    answer = cast["alice"].post(f"{path}note/", {"note": note}, follow=True)
    assert 'class="notice notice-deny">Note: ' in answer.content.decode()
    assert Session.objects.get().note == "before"
    assert log() == []


def test_a_session_is_deleted_whole_and_only_its_id_is_remembered(cast: Cast, path: str) -> None:
    session = Session.objects.get()
    recorded("other")
    answer = cast["administrator"].post(f"{path}delete/", follow=True)
    assert "The session was deleted, with 1 stream." in answer.content.decode()
    assert not Session.objects.filter(pk=session.pk).exists()
    assert Stream.objects.count() == 1
    assert cast["administrator"].get(path).status_code == 404
    assert log() == [("administrator", f"session {session.pk}", "1 stream")]


def test_the_page_offers_what_each_may_do(cast: Cast, path: str) -> None:
    offers = {
        who: [words in cast[who].get(path).content.decode() for words in ("star/", "note/", "delete/", "export/")]
        for who in ("bob", "alice", "administrator")
    }
    assert offers == {
        "bob": [False, False, False, True],
        "alice": [True, True, False, True],
        "administrator": [True] * 4,
    }


@pytest.mark.parametrize("what", ["star", "note", "delete"])
def test_a_session_that_is_not_there_cannot_be_changed(cast: Cast, what: str) -> None:
    assert cast["administrator"].post(f"/sessions/{uuid.uuid4()}/{what}/").status_code == 404
    assert log() == []


def test_a_session_is_exported_as_the_command_writes_it(cast: Cast, path: str) -> None:
    session_id = Session.objects.get().pk
    answer: Any = cast["bob"].get(f"{path}export/")
    assert answer["Content-Disposition"] == f'attachment; filename="session-{session_id}.jsonl"'
    body = async_to_sync(_whole)(answer.streaming_content)
    assert body == b"".join(export([session_id]))
    assert [next(iter(json.loads(line))) for line in body.splitlines()] == ["streamviz", "session", "stream", "end"]
    assert cast["bob"].get(f"/sessions/{uuid.uuid4()}/export/").status_code == 404


async def _whole(parts: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in parts])
