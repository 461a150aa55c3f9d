"""The websockets: who is let in, what they are told, and how they are sent away."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from threading import Event

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import LazySettings
from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError, connections
from django.test import Client

from streamviz.dashboard.roles import OPERATOR, VIEWER
from streamviz.live import consumers
from streamviz.live.publisher import publisher
from streamviz.live.routing import websocket_application, websocket_urlpatterns
from streamviz.live.subscriber import FORBIDDEN, OVER, SIGNED_OUT, TRY_AGAIN
from streamviz.records.models import Stream
from streamviz.records.queries import streams
from tests.dashboard.conftest import recorded
from tests.live.support import Page, Running
from tests.services import free_port

OURS = "http://localhost"
NOT_FOUND = 4404
ROLES = {"stranger": SIGNED_OUT, "charlie": FORBIDDEN, "bob": None, "alice": None, "administrator": None}


@pytest.fixture(autouse=True)
async def _database(transactional_db: None) -> AsyncIterator[None]:
    """The consumers' threads have their own connections, which must not outlive the test."""
    yield
    for run in (database_sync_to_async, sync_to_async):
        await run(connections.close_all)()


def cookie(name: str) -> str:
    """The session cookie of a user with this name, in the role that it has in all tests."""
    if name == "stranger":
        return ""
    make = User.objects.create_superuser if name == "administrator" else User.objects.create_user
    user = make(name)
    if role := {"alice": OPERATOR, "bob": VIEWER}.get(name):
        user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


class Socket:
    """A browser's websocket, and the page that its messages produce."""

    def __init__(self, path: str, session: str = "", origin: str = OURS) -> None:
        headers = [(b"host", b"localhost"), (b"origin", origin.encode())]
        headers += [(b"cookie", f"sessionid={session}".encode())] if session else []
        self.path, self.session = path, session
        self.page = Page()
        self.communicator = WebsocketCommunicator(websocket_application, path, headers)

    async def open(self) -> bool:
        """Whether the handshake was accepted."""
        accepted, _ = await self.communicator.connect(timeout=60)
        return bool(accepted)

    async def take(self) -> int | None:
        """Apply the next message to the page; returns the close code if the socket was closed instead."""
        said = await self.communicator.receive_output(timeout=60)
        if said["type"] == "websocket.close":
            return int(said["code"])
        self.page.receive(said["text"])
        return None

    async def say(self, **said: object) -> None:
        await self.communicator.send_to(json.dumps(said))

    async def take_until(self, kind: str) -> None:
        """Take messages until one of this kind has arrived."""
        while kind not in self.page.kinds:
            assert await self.take() is None

    async def close(self) -> None:
        await self.communicator.disconnect(timeout=60)


async def opened(path: str, who: str = "bob") -> Socket:
    socket = Socket(path, await database_sync_to_async(cookie)(who))
    assert await socket.open()
    return socket


def running(label: str = "nightly-triage") -> Running:
    """A stream that runs in this worker."""
    return Running(publisher.feed, session_label=label)


def test_each_websocket_is_tried() -> None:
    assert [str(each.pattern) for each in websocket_urlpatterns] == ["ws/live/", "ws/streams/<uuid:stream_id>/", ""]


@pytest.mark.parametrize("who", ROLES)
@pytest.mark.parametrize("path", ["/ws/live/", "/ws/streams/{}/"])
async def test_only_those_who_may_view_are_shown_anything(path: str, who: str) -> None:
    stream = await running().say("the text")
    socket = await opened(path.format(stream.id), who)
    assert await socket.take() == ROLES[who]
    assert socket.page.kinds == ([] if ROLES[who] else ["snapshot"])
    await socket.close()
    await stream.end()


@pytest.mark.parametrize(
    "origin",
    ["http://evil.test", "http://localhost.evil.test", "http://localhost:8080", "https://localhost", "null", ""],
)
@pytest.mark.parametrize("path", ["/ws/live/", "/ws/streams/01a1fe9b-64c7-722a-a1b7-fb5e2dde020d/"])
async def test_another_sites_pages_are_refused(path: str, origin: str) -> None:
    socket = Socket(path, await database_sync_to_async(cookie)("administrator"), origin)
    assert not await socket.open()


@pytest.mark.parametrize("path", ["/", "/ws/", "/ws/live", "/ws/streams/x/", "/v1/responses"])
async def test_where_there_is_none_it_is_refused(path: str) -> None:
    assert not await Socket(path).open()


async def test_a_socket_needs_no_redis(settings: LazySettings) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [nowhere]}}
    settings.CHANNEL_LAYERS = {"default": layer}
    socket = await opened("/ws/live/", "bob")
    assert await socket.take() is None
    await socket.close()


async def test_a_session_that_is_over_closes_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.01)
    socket = await opened("/ws/live/")
    assert await socket.take() is None
    await database_sync_to_async(SessionStore(socket.session).flush)()
    while (code := await socket.take()) is None:
        pass
    assert code == SIGNED_OUT


async def test_a_role_that_was_taken_away_closes_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.01)
    socket = await opened("/ws/live/")
    assert await socket.take() is None
    await database_sync_to_async(User.groups.through.objects.all().delete)()
    while (code := await socket.take()) is None:
        pass
    assert code == FORBIDDEN


async def test_a_stream_is_shown_from_its_snapshot_to_its_end() -> None:
    stream = await running().say("one")
    socket = await opened(f"/ws/streams/{stream.id}/")
    await socket.take_until("snapshot")
    assert socket.page.text("b0-text") == "one"
    await stream.say(" two")
    await stream.end()
    await socket.take_until("end")
    assert socket.page.text("b0-text") == "one two"
    assert await socket.take() == OVER


async def test_numbers_have_no_gap_and_a_browser_that_missed_one_gets_everything_again() -> None:
    stream = await running().say("one")
    socket = await opened(f"/ws/streams/{stream.id}/")
    await socket.take_until("snapshot")
    await stream.say(" two")
    await socket.take_until("delta")
    await socket.say(again=True)
    socket.page.kinds.clear()
    await stream.say(" three")
    await socket.take_until("snapshot")
    while socket.page.text("b0-text") != "one two three":
        assert await socket.take() is None
    await socket.close()
    await stream.end()


@pytest.mark.parametrize(
    "said", ["not JSON", "[]", '{"seen": "many"}', '{"seen": -1, "x": {}}', "\x00" * 1000, '{"a":' * 5_000]
)
async def test_nonsense_from_a_browser_does_nothing(said: str) -> None:
    stream = await running().say("one")
    socket = await opened(f"/ws/streams/{stream.id}/")
    await socket.take_until("snapshot")
    await socket.communicator.send_to(said)
    await socket.communicator.send_input({"type": "websocket.receive", "bytes": b"\xff"})
    await stream.say(" two")
    await socket.take_until("delta")
    assert socket.page.text("b0-text") == "one two"
    await socket.close()
    await stream.end()


async def test_who_always_asks_for_everything_gets_it_now_and_then() -> None:
    stream = await running().say("one")
    socket = await opened(f"/ws/streams/{stream.id}/")
    await socket.take_until("snapshot")
    for _ in range(200):
        await socket.say(again=True)
    await stream.say(" two")
    await stream.end()
    await socket.take_until("end")
    assert socket.page.kinds.count("snapshot") <= 3
    assert socket.page.text("b0-text") == "one two"
    await socket.close()


async def test_a_stream_that_there_is_not_is_said() -> None:
    socket = await opened(f"/ws/streams/{uuid.uuid4()}/")
    assert await socket.take() == NOT_FOUND


async def test_a_stream_that_runs_elsewhere_and_nobody_answers_for_is_not_over() -> None:
    stream = await database_sync_to_async(recorded)(outcome="", ended_at=None)
    socket = await opened(f"/ws/streams/{stream.pk}/")
    assert await socket.take() == TRY_AGAIN


async def test_a_database_that_is_away_does_not_end_the_looking_whether_somebody_may_watch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.01)
    socket = await opened("/ws/live/")
    assert await socket.take() is None
    said: list[object] = [OperationalError("away"), OperationalError("away"), SIGNED_OUT]

    async def refusal(scope: object) -> object:
        answer = said.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(consumers, "refusal", refusal)
    while (code := await socket.take()) is None:
        pass
    assert code == SIGNED_OUT
    assert said == []


async def test_a_browser_that_reads_nothing_misses_text_and_no_transition() -> None:
    stream = await running().say("one")
    slow = await opened(f"/ws/streams/{stream.id}/")
    await slow.take_until("snapshot")
    quick = await opened(f"/ws/streams/{stream.id}/", "alice")
    await quick.take_until("snapshot")
    for _ in range(6):
        await stream.say("x" * 100_000)
        quick.page.kinds.clear()
        await quick.take_until("delta")
        await quick.say(seen=quick.page.expected - 1 if quick.page.expected else 0)
    await stream.call("{}", "read_file")
    while "behind" not in slow.page.kinds:
        assert await slow.take() is None
    assert slow.page.missing > 0
    while not slow.page.has("b1"):
        assert await slow.take() is None
    slow.page.kinds.clear()
    await slow.say(seen=slow.page.expected - 1 if slow.page.expected else 0)
    await slow.take_until("snapshot")
    assert len(slow.page.text("b0-text")) == 3 + 6 * 100_000
    assert quick.page.missing == 0
    for socket in (slow, quick):
        await socket.close()
    await stream.end()


async def test_a_cookie_that_is_no_key_is_a_strangers() -> None:
    socket = Socket("/ws/live/", '"' + "\\000" * 32 + '"')
    assert await socket.open()
    assert await socket.take() == SIGNED_OUT


async def test_a_person_has_no_more_sockets_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "MOST_SOCKETS", 2)
    session = await database_sync_to_async(cookie)("bob")
    sockets = [Socket("/ws/live/", session) for _ in range(4)]
    for socket in sockets[:3]:
        assert await socket.open()
    assert [await socket.take() for socket in sockets[:3]] == [None, None, TRY_AGAIN]
    await sockets[0].close()
    assert await sockets[3].open()
    assert await sockets[3].take() is None
    for socket in sockets[1:]:
        await socket.close()
    assert not consumers.WatchConsumer._open


async def test_who_comes_while_the_database_is_busy_is_let_in_before_it_answers() -> None:
    session = await database_sync_to_async(cookie)("bob")
    is_free = Event()
    busy = asyncio.ensure_future(database_sync_to_async(is_free.wait)(60))
    socket = Socket("/ws/live/", session)
    assert await socket.open()
    assert not busy.done()
    is_free.set()
    assert await socket.take() is None
    await busy
    await socket.close()


async def test_a_record_that_takes_long_to_read_keeps_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = await database_sync_to_async(recorded)()
    may_go_on, load = Event(), streams.load

    def slowly(stream_id: uuid.UUID) -> Stream:
        assert may_go_on.wait(60)
        return load(stream_id)

    monkeypatch.setattr(streams, "load", slowly)
    other = Socket("/ws/live/", await database_sync_to_async(cookie)("bob"))
    slow = await opened(f"/ws/streams/{stream.pk}/", "alice")
    assert await other.open()
    assert await other.take() is None
    may_go_on.set()
    await slow.take_until("snapshot")
    for socket in (slow, other):
        await socket.close()


async def test_while_the_database_is_away_who_comes_is_to_come_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def user_now(scope: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(consumers, "user_now", user_now)
    socket = await opened("/ws/live/")
    assert await socket.take() == TRY_AGAIN
    assert "cannot tell who opens a websocket: away" in caplog.text
