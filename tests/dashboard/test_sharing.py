"""Public links: created by administrators if allowed, and giving access to one record until they expire."""

import io
import json
import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from streamviz.dashboard import conversations, queries
from streamviz.logs import LineFormatter
from streamviz.records.deletion import delete_session
from streamviz.records.models import Policy, PublicLink, Session, Stream, Verdict
from tests.dashboard.conftest import NOON, Cast, hold, recorded

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.PUBLIC_LINKS = True


@pytest.fixture
def stream(cast: Cast) -> Stream:
    request = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Why does it fail?"}]}).encode()
    found = recorded(request=request)
    hold(found, [f"Since Tuesday {HOSTILE}"])
    other = recorded(session=found.session, minutes=1)
    hold(other, ["Another turn"])
    return found


def link_to(cast: Cast, what: str, pk: object) -> str:
    """The path of a new link."""
    page = cast["administrator"].post(f"/{what}/{pk}/share/", {"days": "7"}).content.decode()
    found = re.search(r"http://testserver(/shared/[^<]+/)", page)
    assert found
    return found[1]


def test_a_stranger_reads_the_session_and_can_run_and_reach_nothing(cast: Cast, stream: Stream) -> None:
    answer = cast["stranger"].get(link_to(cast, "sessions", stream.session_id))
    page = answer.content.decode()
    for words in ("Why does it fail?", "Since Tuesday", "Another turn"):
        assert words in page
    assert "<script" not in page
    assert set(re.findall(r'(?:href|src|action)="([^#"][^"]*)"', page)) == {
        f"/static/css/{name}.css" for name in ("tokens", "base", "parts", "stream", "conversation")
    }
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert "script-src" not in answer["Content-Security-Policy"]
    assert answer["Referrer-Policy"] == "no-referrer"


def test_a_link_to_a_stream_shows_no_other(cast: Cast, stream: Stream) -> None:
    page = cast["stranger"].get(link_to(cast, "streams", stream.pk)).content.decode()
    assert "Since Tuesday" in page
    assert "Another turn" not in page
    assert stream.session.label not in page


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_link_to_a_stream_shows_it_though_it_was_tried_again(cast: Cast, which: int) -> None:
    attempts = [recorded()]
    for minutes in (1, 2):
        again = recorded(session=attempts[0].session, minutes=minutes, parent=attempts[-1].pk, relation="retry")
        attempts.append(again)
    for number, each in enumerate(attempts):
        hold(each, [f"answer of attempt {number}"])
    page = cast["stranger"].get(link_to(cast, "streams", attempts[which].pk)).content.decode()
    assert re.findall(r"answer of attempt \d", page) == [f"answer of attempt {which}"]


def conversation(turns: int) -> Session:
    """A session with this many turns, the last of which is a fork of the first."""
    session: Session | None = None
    said: list[dict[str, str]] = []
    streams: list[Stream] = []
    for number in range(turns):
        said.append({"role": "user", "content": f"question {number}."})
        body = json.dumps({"model": "m", "messages": said}).encode()
        stream = recorded(session=session, minutes=number, request=body, parent=streams[-1].pk if streams else None,
                          relation="turn" if streams else "")  # fmt: skip
        hold(stream, [f"answer {number}."])
        streams.append(stream)
        session = stream.session
    Stream.objects.filter(pk=streams[-1].pk).update(parent=streams[0].pk, relation="fork")
    assert session is not None
    return session


def turns_on(page: str) -> list[int]:
    return [int(number) for number in re.findall(r"answer (\d+)\.", page)]


def asking(*words: str) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": each} for each in words]}).encode()


def test_a_stranger_is_told_what_is_left_out(cast: Cast) -> None:
    found = recorded(request=asking(*(f"message {n}" for n in range(45))), block_count=63)
    hold(found, [f"block {n}" for n in range(63)])
    recorded(session=found.session, minutes=1, request=found.request)
    changed = asking("changed", *(f"message {n}" for n in range(60)))
    recorded(session=found.session, minutes=2, parent=found.pk, relation="fork", request=changed)
    page = cast["stranger"].get(link_to(cast, "sessions", found.session_id)).content.decode()
    assert '<p class="changed">5 earlier messages not shown</p>' in page
    assert '<p class="changed">3 more blocks not shown</p>' in page
    assert '<p class="changed">nothing new</p>' in page
    assert re.search(r"\d+ earlier messages left out or changed; \d+ earlier messages not shown", page)
    assert "3 more blocks" in cast["bob"].get(f"/sessions/{found.session_id}/").content.decode()


def test_a_long_session_is_read_page_by_page(cast: Cast) -> None:
    path = link_to(cast, "sessions", conversation(23).pk)
    pages = [cast["stranger"].get(path).content.decode()]
    while following := re.findall(r'rel="next" href="(\?[^"]+)"', pages[-1]):
        pages.append(cast["stranger"].get(path + following[0]).content.decode())
    assert [turns_on(page) for page in pages] == [list(range(10)), list(range(10, 20)), [20, 21, 22]]
    assert pages[1].count("question") == 10, "what the page before has is not said again"
    assert 'rel="prev"' not in pages[0]
    [earlier] = re.findall(r'rel="prev" href="(\?[^"]+)"', pages[2])
    assert turns_on(cast["stranger"].get(path + earlier).content.decode()) == list(range(10, 20))


def test_what_comes_after_very_many_streams_can_be_read(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "STREAMS_A_PAGE", 3)
    path = link_to(cast, "sessions", conversation(5).pk)
    page = cast["stranger"].get(path).content.decode()
    assert turns_on(page) == [0, 1, 2]
    [query] = re.findall(r'rel="next" href="(\?[^"]+)"', page)
    assert turns_on(cast["stranger"].get(path + query).content.decode()) == [3, 4]


def test_a_link_to_a_stream_leads_to_no_other(cast: Cast) -> None:
    stream = conversation(12).streams.order_by("requested_at")[1]
    path = link_to(cast, "streams", stream.pk)
    for query in ("", "?turn=2", "?turn=12"):
        page = cast["stranger"].get(path + query).content.decode()
        assert turns_on(page) == [1]
        assert 'href="?' not in page


def test_a_stranger_is_told_what_a_person_decided_and_not_who_that_was(
    cast: Cast, stream: Stream, guard: Policy
) -> None:
    Verdict.objects.create(stream=stream, number=0, ordinal=0, policy_version=guard.versions.get(), mode="enforce",
                           decision="deny", by="alice", took_us=1, at=NOON)  # fmt: skip
    page = cast["stranger"].get(link_to(cast, "streams", stream.pk)).content.decode()
    assert "denied by hand" in page
    assert "alice" not in page
    assert " ago" not in page


def test_the_list_says_when_a_link_ends(cast: Cast, stream: Stream) -> None:
    link_to(cast, "streams", stream.pk)
    page = cast["administrator"].get("/public-links/").content.decode()
    ends = PublicLink.objects.get().expires_at
    assert f">{ends:%d %b %H:%M:%S}</time>" in page


@pytest.mark.parametrize("end", ["expired", "revoked", "off", "deleted"])
def test_a_link_that_has_ended_leads_nowhere(cast: Cast, stream: Stream, settings: Any, end: str) -> None:
    path = link_to(cast, "sessions", stream.session_id)
    assert cast["stranger"].get(path).status_code == 200
    if end == "expired":
        PublicLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "revoked":
        cast["administrator"].post(f"/public-links/{PublicLink.objects.get().pk}/revoke/")
    elif end == "off":
        settings.PUBLIC_LINKS = False
    else:
        delete_session(stream.session_id)
    assert cast["stranger"].get(path).status_code == 404


def test_a_secret_that_was_not_given_leads_nowhere(cast: Cast, stream: Stream) -> None:
    path = link_to(cast, "sessions", stream.session_id)
    link = PublicLink.objects.get()
    for guess in (link.digest, str(link.pk), path.split("/")[2][:-1]):
        assert cast["stranger"].get(f"/shared/{guess}/").status_code == 404


def test_nobody_makes_a_link_where_sharing_is_off(cast: Cast, stream: Stream, settings: Any) -> None:
    settings.PUBLIC_LINKS = False
    assert cast["administrator"].post(f"/sessions/{stream.session_id}/share/").status_code == 403
    page = cast["administrator"].get(f"/sessions/{stream.session_id}/").content.decode()
    assert "Public link" not in page
    assert not PublicLink.objects.exists()


def test_who_made_and_revoked_it_is_logged_without_its_secret(cast: Cast, stream: Stream) -> None:
    path = link_to(cast, "streams", stream.pk)
    link = PublicLink.objects.get()
    cast["administrator"].post(f"/public-links/{link.pk}/revoke/")
    said = [(each.object_repr, each.change_message) for each in LogEntry.objects.order_by("pk")]
    assert said == [
        (f"public link {link.pk}", f"public link to stream {stream.pk}"),
        (f"public link {link.pk}", "revoked"),
    ]
    assert path.split("/")[2] not in cast["administrator"].get("/public-links/").content.decode()


def test_no_log_has_the_secret_of_a_link(cast: Cast, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    path = link_to(cast, "streams", stream.pk)
    heard = logging.StreamHandler(said := io.StringIO())
    heard.setFormatter(LineFormatter())
    monkeypatch.setattr(logging.getLogger(), "handlers", [heard])
    stranger = Client(raise_request_exception=False)
    assert [stranger.get(f"{path}{end}").status_code for end in ("", "x", "x/")] == [200, 404, 404]
    assert stranger.post(path).status_code == 405
    monkeypatch.delattr(conversations, "turn_alone")
    assert stranger.get(path).status_code == 500
    assert said.getvalue().count("/shared/***/") == 4
    assert path.split("/")[2] not in said.getvalue()
