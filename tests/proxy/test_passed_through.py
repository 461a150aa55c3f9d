"""A call that is passed through, in one process, whose client leaves in the midst of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from streamviz.asgi_types import LEFT
from streamviz.live.feed import Feed
from streamviz.proxy.observers import Observers
from streamviz.proxy.pass_through import pass_through
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from streamviz.records.recorder import FramesSent, StreamClosed
from streamviz.upstream.raw import new_client
from tests.proxy.test_leaving import Turn
from tests.proxy.test_own_failures import KEY, Kept
from tests.records.support import ROOM

HEADERS = [(b"authorization", f"Bearer {KEY}".encode()), (b"x-streamviz-provider", b"files")]
SCOPE = {"type": "http", "method": "GET", "path": "/v1/files", "raw_path": b"/v1/files", "query_string": b""}


class Upstream:
    """A provider whose answer, or the rest of it, is waited for."""

    def __init__(self) -> None:
        self.is_asked, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.before = b""
        self.breaks = False
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-length": "9"})
        if self.before:
            await response.prepare(request)
            await response.write(self.before)
        self.is_asked.set()
        await self.may_go_on.wait()
        if self.breaks:
            assert request.transport is not None
            request.transport.close()
        else:
            await response.prepare(request)
            await response.write(b"012345678"[len(self.before) :])
        return response


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    made = Upstream()
    application = web.Application()
    application.router.add_get("/v1/files", made.answer)
    server = TestServer(application)
    await server.start_server()
    made.url = str(server.make_url("/v1"))
    yield made
    await server.close()


@pytest.fixture
async def worker(tmp_path: Path, upstream: Upstream) -> AsyncIterator[Worker]:
    made = Worker()
    made.configuration.keys[digest(KEY)] = KnownKey(1, "a-key")
    made.configuration.key_ids = frozenset([1])
    made.configuration.routes["files"] = KnownRoute("openai/any", upstream.url, "")
    made.client = new_client(silence_seconds=30)
    made.journal = Journal(tmp_path, ROOM)
    made.observers = Observers(cast(Any, Kept()), Feed())
    yield made
    await made.client.close()
    made.journal.close()


class Client:
    """Asks for the files, and leaves when it is told to."""

    def __init__(self, worker: Worker) -> None:
        self.leaving: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.messages: list[Any] = []
        self.has_some = asyncio.Event()
        scope: Any = {**SCOPE, "headers": HEADERS, "client": None, "extensions": {LEFT: self.leaving}}
        self.task = asyncio.create_task(pass_through(worker, scope, self._receive, self._send))

    async def _receive(self) -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Any) -> None:
        self.messages.append(message)
        if message.get("body"):
            self.has_some.set()


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("before", [b"", b"0123"])
async def test_what_comes_until_its_turn_to_end_is_neither_sent_nor_its_end(
    worker: Worker, upstream: Upstream, before: bytes, breaks: bool
) -> None:
    upstream.before, upstream.breaks = before, breaks
    turn: Any = Turn()
    worker.floods = turn
    client = Client(worker)
    await upstream.is_asked.wait()
    if before:
        await client.has_some.wait()
    sent = list(client.messages)
    client.leaving.set_result({})
    await asyncio.sleep(0)
    upstream.may_go_on.set()
    await asyncio.gather(client.task, return_exceptions=True)
    kept: Any = worker.observers.recorder
    [closed] = [entry for entry in kept.entries if isinstance(entry, StreamClosed)]
    assert (closed.outcome, closed.error) == ("client_disconnected", "the client left")
    assert sum(isinstance(entry, FramesSent) for entry in kept.entries) == bool(before)
    assert client.messages == sent
