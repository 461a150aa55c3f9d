"""An answer is read by its contents, whatever its content type says."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from streamviz.core.sse import events_in
from streamviz.core.verdicts import Mode
from streamviz.exchange.reading import are_events, has_events
from streamviz.live.feed import Feed
from streamviz.policies import build
from streamviz.proxy import asgi
from streamviz.proxy.observers import Observers
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from streamviz.records.scoped_policies import ScopedPolicy
from streamviz.upstream.raw import new_client
from tests.core.sdk import Reader
from tests.core.support import active
from tests.proxy.test_own_failures import KEY, Kept, stays
from tests.records.support import ROOM

EVENTS, JSON = "text/event-stream", "application/json"
SECRET = "my key"


def answer_of(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**head, "choices": [choice]}).encode()


def events_of(text: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    end = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    said = [{**head, "choices": [choice]}, end]
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in said) + b"data: [DONE]\n\n"


class Upstream:
    """A provider that gives a scripted answer to any request."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.type = ""
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": self.type})
        await response.prepare(request)
        for piece in self.pieces:
            await response.write(piece)
        return response


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    made = Upstream()
    application = web.Application()
    application.router.add_post("/{any:.*}", made.answer)
    server = TestServer(application)
    await server.start_server()
    made.url = str(server.make_url("/v1"))
    yield made
    await server.close()


@pytest.fixture
async def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: Upstream) -> AsyncIterator[Worker]:
    made = Worker()
    made.configuration.keys[digest(KEY)] = KnownKey(1, "a-key")
    made.configuration.key_ids = frozenset([1])
    made.configuration.routes["openai"] = KnownRoute("openai/x", upstream.url, "")
    rule = active(build("text_rule", {"patterns": [SECRET], "in": ["content"]}))
    made.configuration.policies = (ScopedPolicy("rule", 1, Mode.ENFORCE, (), (), rule),)
    made.client = new_client(silence_seconds=30)
    made.journal = Journal(tmp_path, ROOM)
    made.observers = Observers(cast(Any, Kept()), Feed())
    monkeypatch.setattr(asgi, "worker", made)
    yield made
    await made.client.close()
    made.journal.close()


async def asked(is_streaming: bool) -> tuple[int, bytes]:
    """The status and the body that a client gets."""
    sent: list[Any] = []
    request = {"model": "openai", "stream": is_streaming, "messages": [{"role": "user", "content": "?"}]}
    to_come = [{"type": "http.request", "body": json.dumps(request).encode(), "more_body": False}]

    async def receive() -> Any:
        return to_come.pop() if to_come else await stays()

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "client": ("127.0.0.1", 1)}
    headers = [(b"authorization", f"Bearer {KEY}".encode())]
    await asgi.application(cast(Any, {**scope, "headers": headers}), receive, send)
    return sent[0]["status"], b"".join(each["body"] for each in sent[1:])


@pytest.mark.parametrize("is_streaming", [True, False])
@pytest.mark.parametrize("type", [EVENTS, JSON, "text/plain"])
async def test_json_is_judged_as_json(worker: Worker, upstream: Upstream, type: str, is_streaming: bool) -> None:
    upstream.type, upstream.pieces = type, [b" \n", answer_of("hello")]
    assert await asked(is_streaming) == (200, b" \n" + answer_of("hello"))
    upstream.pieces = [b"\n", answer_of(SECRET)]
    status, body = await asked(is_streaming)
    assert status == 200
    assert "[removed]" in Reader().body(body).choices[0].message.content
    assert SECRET.encode() not in body


@pytest.mark.parametrize("type", [EVENTS, JSON, "text/plain"])
async def test_events_are_judged_as_events(worker: Worker, upstream: Upstream, type: str) -> None:
    upstream.type, upstream.pieces = type, [events_of("hello")]
    assert await asked(True) == (200, events_of("hello"))
    upstream.pieces = [events_of(SECRET)]
    status, body = await asked(True)
    assert status == 200
    assert SECRET.encode() not in body
    assert Reader().stream(body)[1] == {0: "stop"}


async def test_what_is_both_is_not_handed_on(worker: Worker, upstream: Upstream) -> None:
    both = answer_of("hello").replace(b"hello", b"\n\ndata: my key\n\n".replace(b"my key", SECRET.encode()))
    upstream.type, upstream.pieces = EVENTS, [both]
    _, body = await asked(True)
    assert SECRET.encode() not in body
    assert b"data: " in body
    assert b"in two ways" in body or b"as events and as JSON" in body


async def test_events_that_nobody_asked_for_are_not_handed_on(worker: Worker, upstream: Upstream) -> None:
    upstream.type, upstream.pieces = EVENTS, [f": {SECRET}\n\n".encode(), events_of("hello")]
    status, body = await asked(False)
    assert (status, SECRET.encode() in body) == (502, False)
    assert "asks for none" in json.loads(body)["error"]["message"]
    worker.configuration.policies = ()
    assert await asked(False) == (200, b"".join(upstream.pieces))


async def test_nothing_at_all_is_an_error_to_who_asked_for_an_answer(worker: Worker, upstream: Upstream) -> None:
    upstream.type, upstream.pieces = JSON, []
    assert (await asked(False))[0] == 502


@pytest.mark.parametrize(
    ("beginning", "says_so", "are_asked", "are"),
    [
        (b"{", True, True, False),
        (b"[", True, False, False),
        (b"data: {}", False, True, True),
        (b": hi", False, True, True),
        (b"data: {}", False, False, False),
        (b"<html>", True, True, True),
        (b"<html>", False, True, False),
        (b"", True, True, True),
    ],
)
def test_the_beginning_says_what_it_is(beginning: bytes, says_so: bool, are_asked: bool, are: bool) -> None:
    assert are_events(beginning, says_so, are_asked) is are


def test_a_body_with_a_line_of_data_has_events() -> None:
    assert has_events(b'{"a": "\ndata: {}\n"}')
    assert not has_events(b'{\n  "data": 5,\n  "event": "x"\n}')


@pytest.mark.parametrize(
    "body", [b"data", b"data:", b"\xef\xbb\xbfdata: 1", b"a\ndata\n", b"\rdata: 1", b": a\r\ndata:1\r\n\r\n"]
)
def test_a_line_with_data_is_an_event(body: bytes) -> None:
    assert has_events(body)
    assert any(event.data is not None for event in events_in(body))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"data": 1}',
        b"datas: 1",
        b" data: 1",
        b"event: data",
        b"a data: 1",
        b"\n\xef\xbb\xbfdata: 1",
        b"\n" * 1_000_000,
    ],
)
def test_a_body_without_a_line_of_data_has_no_events(body: bytes) -> None:
    assert not has_events(body)
    assert all(event.data is None for event in events_in(body[:100]))
