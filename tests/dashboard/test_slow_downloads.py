"""Slow downloads do not block the connections to the database, and get only what the user may still have."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.cookies import SimpleCookie
from typing import IO, Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as SignIn
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIHandler
from django.db import connection, connections
from django.test import Client

from streamviz.dashboard.views import exports
from streamviz.records import database_settings
from streamviz.records.models import Stream
from tests.dashboard.conftest import hold, recorded

pytestmark = pytest.mark.django_db(transaction=True)
MOST = database_settings.LEAST_POOL
RAW = b"data: [1]\n\n"
# More pieces than a thread writes in one turn, and more runs than one query reads.
CHUNKS = 12_000


class Pages(ASGIHandler):
    """Keeps requests' bodies to close them: if a response fails, Django leaves them to the garbage collector."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies = ExitStack()

    async def read_body(self, receive: Any) -> IO[bytes]:
        return self.bodies.enter_context(await super().read_body(receive))


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[ASGIHandler]:
    """The pages, with a pool of MOST database connections."""
    pooled = database_settings.pooled(dict(connection.settings_dict), MOST)
    pooled["OPTIONS"]["pool"]["timeout"] = 60.0
    monkeypatch.setitem(connections.settings, "default", pooled)
    pages = Pages()
    with pages.bodies:
        yield pages
    wrapper: Any = connections.create_connection("default")  # its stubs know no pools
    wrapper.close_pool()


@pytest.fixture
def cookie() -> str:
    """The cookie of a signed-in administrator."""
    client = Client()
    client.force_login(User.objects.create_superuser("administrator"))
    jar: SimpleCookie = client.cookies
    return jar.output(attrs=[], header="", sep=";").strip()


@pytest.fixture
def stream() -> Stream:
    found = recorded()
    hold(found, raws=[RAW] * CHUNKS)
    return found


class Reader:
    """Requests a page, and reads the response once `may_read` is set."""

    def __init__(self, app: ASGIHandler, path: str, cookie: str) -> None:
        self.status, self.body = 0, b""
        self.has_some, self.may_read = asyncio.Event(), asyncio.Event()
        path, _, query = path.partition("?")
        headers = [(b"host", b"testserver"), (b"cookie", cookie.encode())]
        scope: Any = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
        self._is_asked = False
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        if self._is_asked:
            await asyncio.Event().wait()
        self._is_asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, event: Any) -> None:
        self.status = event.get("status", self.status)
        self.body += event.get("body", b"")
        if event["type"] == "http.response.body":
            self.has_some.set()
            await self.may_read.wait()


@pytest.mark.parametrize(
    ("path", "chunks"),
    [
        ("/streams/{stream}/export/?as=sse", CHUNKS),
        ("/streams/{stream}/export/", CHUNKS),
        ("/sessions/{session}/export/", CHUNKS),
        ("/sessions/export/?range=all", CHUNKS),
        ("/sessions/?range=all", 0),
    ],
    ids=["a tape", "a stream", "a session", "a list", "a page"],
)
async def test_pages_are_made_while_others_read_theirs_slowly(
    app: ASGIHandler, cookie: str, stream: Stream, path: str, chunks: int
) -> None:
    path = path.format(stream=stream.pk, session=stream.session_id)
    slow = [Reader(app, path, cookie) for _ in range(MOST)]
    for each in slow:
        await each.has_some.wait()
    other = Reader(app, "/sessions/?range=all", cookie)
    other.may_read.set()
    await other.task
    for each in slow:
        each.may_read.set()
        await each.task
    assert [each.status for each in (other, *slow)] == [200] * (MOST + 1)
    assert {each.body.count(b"data: [1]") for each in slow} == {chunks}


def _alone(work: Callable[[], object]) -> None:
    work()
    connections.close_all()  # those of this thread


@pytest.mark.parametrize(
    "end",
    [
        lambda: User.objects.update(is_active=False),
        lambda: User.objects.update(is_superuser=False),
        lambda: SignIn.objects.all().delete(),
    ],
    ids=["locked", "without a role", "signed out"],
)
async def test_a_file_ends_cut_once_somebody_may_have_it_no_more(
    app: ASGIHandler, cookie: str, stream: Stream, monkeypatch: pytest.MonkeyPatch, end: Callable[[], object]
) -> None:
    monkeypatch.setattr(exports, "RECHECK_SECONDS", 0.0)
    slow = Reader(app, f"/streams/{stream.pk}/export/?as=sse", cookie)
    await slow.has_some.wait()
    await sync_to_async(_alone)(end)
    slow.may_read.set()
    with pytest.raises(PermissionDenied):
        await slow.task
    assert 0 < slow.body.count(b"data: [1]") < CHUNKS
