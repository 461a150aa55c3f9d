"""A call that is passed through, in one process: who may end it midway, and what is not an answer."""

import asyncio
import json
import logging
import tracemalloc
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from asgiref.typing import HTTPScope

from streamviz.asgi_types import LEFT
from streamviz.core.context import StreamingContext
from streamviz.core.errors import RequestError
from streamviz.core.outcome import Outcome
from streamviz.core.policy import ActivePolicy, Policy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.exchange.life import State
from streamviz.exchange.stream import LiveStream
from streamviz.live.feed import Feed
from streamviz.policies.registry import build
from streamviz.proxy import asgi, destinations
from streamviz.proxy.observers import Observers
from streamviz.proxy.passed_bodies import without_credentials_in
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from streamviz.records.recorder import AnyEntry, FramesSent, StreamClosed, StreamOpened, VerdictsGiven
from streamviz.records.scoped_policies import ScopedPolicy
from streamviz.records.verdict_record import VerdictRecord
from streamviz.upstream.raw import MOST_OF_A_REFUSAL, new_client
from tests.proxy.test_leaving import Slot
from tests.proxy.test_own_failures import KEY, Kept
from tests.records.support import ROOM

HEADERS = [(b"authorization", f"Bearer {KEY}".encode()), (b"x-streamviz-provider", b"files")]
SCOPE = {"type": "http", "method": "GET", "path": "/v1/files", "raw_path": b"/v1/files", "query_string": b""}
BODY = b"012345678"


class Upstream:
    """A provider that holds back its answer, or the rest of it, until told."""

    def __init__(self) -> None:
        self.is_asked, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.before, self.body, self.status = b"", BODY, 200
        self.breaks = False
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=self.status, headers={"content-length": str(len(self.body))})
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
            await response.write(self.body[len(self.before) :])
        return response


class Full(Kept):
    """A record that accepts `most` entries; further ones are lost."""

    most = 1_000

    def append(self, entry: AnyEntry) -> None:
        if len(self.entries) < self.most or isinstance(entry, StreamClosed):
            super().append(entry)
        else:
            self.most = 0

    def has_lost(self, stream_id: object) -> bool:
        return self.most == 0


class Refusing(Policy):
    """Denies whatever passes unread."""

    kind = "full"
    judges_unread = True

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict:
        return Verdict(Decision.DENY, "It is full.", "No more files.")


def verdicts(worker: Worker) -> list[VerdictRecord]:
    """The verdicts that are recorded."""
    recorder: Any = worker.observers.recorder
    return [each for entry in recorder.entries if isinstance(entry, VerdictsGiven) for each in entry.verdicts]


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    made = Upstream()
    application = web.Application()
    application.router.add_get("/v1/files", made.answer)
    application.router.add_post("/v1/files", made.answer)
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
    made.configuration.routes["files"] = KnownRoute("openai/any", upstream.url, "")
    made.client = new_client(silence_seconds=30)
    made.journal = Journal(tmp_path, ROOM)
    made.observers = Observers(cast(Any, Full()), Feed())
    monkeypatch.setattr(asgi, "worker", made)
    yield made
    await made.client.close()
    made.journal.close()


class Client:
    """Requests the files, and disconnects when told."""

    def __init__(
        self, worker: Worker, method: str = "GET", path: str = "/v1/files", body: bytes = b"", kind: str = ""
    ) -> None:
        self._body = body
        self.leaving: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.messages: list[Any] = []
        self.has_some = asyncio.Event()
        self._recorder: Any = worker.observers.recorder
        where = {"method": method, "path": path, "raw_path": path.encode()}
        headers = [*HEADERS, (b"content-type", kind.encode())]
        scope: Any = {**SCOPE, **where, "headers": headers, "client": None, "extensions": {LEFT: self.leaving}}
        self.task = asyncio.create_task(asgi.application(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def _send(self, message: Any) -> None:
        self.messages.append(message)
        if message.get("body"):
            self.has_some.set()

    @property
    def got(self) -> tuple[int, bytes]:
        return self.messages[0]["status"], b"".join(each["body"] for each in self.messages[1:])

    @property
    def names_stream(self) -> str:
        """The stream that the answer's head names."""
        return str(dict(self.messages[0]["headers"])[b"x-streamviz-stream"].decode())

    @property
    def is_answered(self) -> bool:
        """Whether the whole answer has arrived: the server cuts off an incomplete one."""
        return bool(self.messages) and not self.messages[-1].get("more_body", True)

    @property
    def closed(self) -> StreamClosed:
        [found] = [entry for entry in self._recorder.entries if isinstance(entry, StreamClosed)]
        return found

    @property
    def kept_body(self) -> str:
        """The request's body, as it is recorded."""
        [found] = [entry for entry in self._recorder.entries if isinstance(entry, StreamOpened)]
        return str(json.loads(found.request)["body"])

    @property
    def frames(self) -> int:
        return sum(isinstance(entry, FramesSent) for entry in self._recorder.entries)


MCP = {"type": "mcp", "server_url": "https://docs.example/", "authorization": "canary"}
SIGNED = {"type": "input_image", "image_url": "https://pictures.example/a.png?sig=canary"}


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "m", "tools": [MCP], "input": [{"role": "user", "content": [SIGNED]}]},
        {"session": {"type": "realtime", "tools": [MCP]}},
        {"requests": [{"custom_id": "a", "params": {"mcp_servers": [{"authorization_token": "canary"}]}}]},
    ],
)
async def test_a_body_is_recorded_without_the_credentials_in_it(
    worker: Worker, upstream: Upstream, settings: Any, asked: dict[str, Any]
) -> None:
    settings.STORE_PASSED_THROUGH = True
    upstream.may_go_on.set()
    client = Client(worker, "POST", body=json.dumps(asked).encode())
    await client.task
    assert client.got[0] == 200
    assert "canary" not in client.kept_body
    assert json.loads(client.kept_body).keys() == asked.keys()


ASKED = json.dumps({"custom_id": "a", "body": {"tools": [MCP], "input": [{"content": [SIGNED]}]}}).encode()
UPLOAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\nContent-Type: text/plain\r\n\r\n'
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
FIELD = b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n'


@pytest.mark.parametrize(
    ("kind", "body", "kept"),
    [
        ("application/json", b"[" + ASKED + b"]", b'[{"custom_id"'),
        ("application/json", b"\xef\xbb\xbf" + ASKED, b'{"custom_id"'),
        ("application/x-ndjson", ASKED + b"\n" + ASKED, b'{"custom_id"'),
        ("application/jsonl", b"words\n\n  " + ASKED + b"\r\n", b"words\n"),
        ("multipart/form-data; boundary=b", UPLOAD + ASKED + b"\n" + ASKED + b"\r\n--b--\r\n", UPLOAD),
        (FORM, b"model=m&api_key=canary&x=%20&y", b"model=m&api_key=***&x=%20&y"),
        (f"{FORM}; charset=utf-8", b"image=%2F%2Fu:canary%40a.example%2Fa", b"image=%2F%2Fa.example%2Fa"),
        ("application/json", json.dumps({"document": {"url": "a.example?canary"}}).encode(), b'{"document"'),
        ("application/json", b'{"authorization": "canary"}', b'{"authorization":"***"}'),
        ("application/json", b'{"a":[{"b":{"Client-Secret":"canary"}}],"max_tokens":1}', b'{"a":[{"b":'),
        (
            "application/json",
            b'{"seen":{"Authorization":["canary","canary"],"password":[]}}',
            b'{"seen":{"Authorization"',
        ),
        ("text/plain", b'{}\n{"accessToken": "canary", "x": {"secret": {}}}', b'{}\n{"accessToken":"***"'),
        (FORM, b"tools%5B0%5D[authorization]=canary&a[password]=canary&tools[][headers][x]=canary&a[0][b]=c", b"tools"),
        (MULTIPART, FIELD % b"api_key" + b"canary\r\n--b--", FIELD % b"api_key" + b"***\r\n--b--"),
        (MULTIPART, FIELD % b"tools[0][headers][x]" + b"canary\nof\r\nlines\r\n--b\r\n", b"--b"),
        (FORM, b"a[b]" * 21 + b"=canary&b" + b"x" * 1_000 + b"=canary", b"a[b]" * 21 + b"=%28nested+too+deeply%29&bx"),
        (MULTIPART, FIELD.replace(b'"', b"") % b"image" + b"https://a.example?canary\r\n--b--", b"--b"),
        (MULTIPART, b"words\r\n" + FIELD % b"api_key" + b"canary\r\n--b--", b"words\r\n--b"),
        (MULTIPART, (FIELD % b"api_key").replace(b"\r", b"") + b"canary\n--b--", b"--b"),
        (MULTIPART, (FIELD % b"api_key").replace(b"; ", b";\r\n ").replace(b"=", b" = ") + b"canary\r\n--b--", b"--b"),
        (MULTIPART, (FIELD % b"api_key").replace(b'"', b"'") + b"canary\r\n--b--", b"--b"),
        (MULTIPART, FIELD.replace(b'="%s"', b"*=utf-8''api%5Fkey") + b"canary\r\n--b--", b"--b"),
        (MULTIPART, FIELD % b"filename_api_key" + b"canary\r\n--b--", b"--b"),
        (MULTIPART, FIELD % b'api_key"; filename="key.txt' + b"canary\r\n--b--", b"--b"),
        (MULTIPART, b"--b \r\n" + FIELD[5:] % b"a" + b"1\r\n" + FIELD % b"api_key" + b"canary\r\n--b--", b"--b \r\n"),
        (MULTIPART, FIELD % b"metadata" + b'{\r\n "api_key":\r\n "canary"}\r\n--b--', b"--b"),
        (MULTIPART, FIELD % b"tools" + b'[{"type":\n"mcp","authorization":"canary"}]\r\n--b--', b"--b"),
        (MULTIPART, UPLOAD + b'{\r\n "api_key":\r\n "canary"}\r\n--b--', UPLOAD),
        ("multipart/related; boundary=b", b'--b\r\nX: y\r\n\r\n{\n "password":\n "canary"}\r\n--b--', b"--b"),
        (MULTIPART, b"--c" + (FIELD % b"api_key")[3:] + b"canary\r\n--c--", b"--c"),
        (
            MULTIPART,
            FIELD.replace(b'name="%s"', b"x" * 20_000 + b'; name="api_key"') + b"canary\r\n--b--",
            b"--b(a part",
        ),
        (FORM, b"metadata=%7B%22api_key%22%3A%22canary%22%7D&a=b", b"metadata=%7B%22api_key%22%3A%22***%22"),
    ],
)
async def test_a_body_of_another_kind_is_recorded_without_them_too(
    worker: Worker, upstream: Upstream, settings: Any, kind: str, body: bytes, kept: bytes
) -> None:
    settings.STORE_PASSED_THROUGH = True
    upstream.may_go_on.set()
    client = Client(worker, "POST", body=body, kind=kind)
    await client.task
    assert client.got[0] == 200
    assert "canary" not in client.kept_body
    assert client.kept_body.startswith(kept.decode())


@pytest.mark.parametrize(
    "name",
    (
        "auth bearer Cookie Set-Cookie cookies connection_string credential jwt pass passcode passwd pwd session"
        " sessionid sid token api_keys account_key signing-key"
    ).split(),
)
def test_what_is_named_as_a_credential_is_masked(name: str) -> None:
    for value in ("canary", ["canary"]):
        for seen in ({name: value}, [{"name": name, "value": value}], {"a": {"key": name, "value": value}}):
            assert "canary" not in without_credentials_in(json.dumps(seen).encode(), "application/json").decode()
    assert without_credentials_in(f"{name}=canary".encode(), FORM) == f"{name}=***".encode()


@pytest.mark.parametrize("value", [12345, "12345"])
def test_so_is_a_number(value: object) -> None:
    assert without_credentials_in(json.dumps({"password": value}).encode(), "application/json") == b'{"password":"***"}'


@pytest.mark.parametrize("name", ["max_tokens", "eos_token", "next_page_token", "author", "compass", "key", "keys"])
def test_a_name_like_those_of_credentials_is_none(name: str) -> None:
    body = json.dumps({name: "kept", "schema": {"properties": {"password": {"type": "string"}}}, "auth": None}).encode()
    assert without_credentials_in(body, "application/json") == body


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"words\n" + (ASKED + b"\n") * 100),
        (FORM, b"a=b&" * 100 + b"api_key=canary"),
        (MULTIPART, FIELD % b"a" + b"[" + b"1," * 200 + b'"canary"]\r\n--b--'),
        (FORM, b"a=[" + b"1%2C" * 200 + b'"canary"]'),
    ],
)
async def test_a_body_with_too_much_in_it_is_not_looked_through_and_not_recorded(
    worker: Worker, upstream: Upstream, settings: Any, kind: str, body: bytes
) -> None:
    settings.STORE_PASSED_THROUGH = True
    settings.ANSWER_BOUNDS = replace(settings.ANSWER_BOUNDS, values=100)
    upstream.may_go_on.set()
    client = Client(worker, "POST", body=body, kind=kind)
    await client.task
    assert client.kept_body == "(more values than MAX_VALUES)"


async def test_a_body_that_is_nested_too_deeply_to_be_looked_through_is_not_recorded(
    worker: Worker, upstream: Upstream, settings: Any
) -> None:
    settings.STORE_PASSED_THROUGH = True
    upstream.may_go_on.set()
    body = b'{"api_key": "canary", "deep": ' + b"[" * 500 + b"]" * 500 + b"}"
    client = Client(worker, "POST", body=body, kind="application/json")
    await client.task
    assert client.kept_body == "(nested too deeply)"


def test_a_field_whose_value_is_escaped_takes_little_memory() -> None:
    body = b"text=" + b"%C3%A9" * 300_000 + b"&api_key=canary"
    tracemalloc.start()
    try:
        known = without_credentials_in(body, FORM)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert known == body.replace(b"canary", b"***")
    assert most < 10 * len(body)


async def test_a_line_that_is_nested_too_deeply_is_not_recorded(
    worker: Worker, upstream: Upstream, settings: Any
) -> None:
    settings.STORE_PASSED_THROUGH = True
    upstream.may_go_on.set()
    body = b'words\n{"api_key": "canary", "deep": ' + b"[" * 500 + b"]" * 500 + b"}\n{}"
    client = Client(worker, "POST", body=body, kind="application/jsonl")
    await client.task
    assert client.kept_body == "words\n(nested too deeply)\n{}"


@pytest.mark.parametrize(
    "body",
    [
        b'{ "model": "m", "text": "canary" }',
        b'{"max_tokens": 1, "secret": null}',
        b"a,b\n" * 200_000,
        b"words",
        b"{",
        b"\xff{\n{1}\n[ 1 ]",
    ],
)
async def test_a_body_without_credentials_is_recorded_as_it_is(
    worker: Worker, upstream: Upstream, settings: Any, body: bytes
) -> None:
    settings.STORE_PASSED_THROUGH = True
    upstream.may_go_on.set()
    client = Client(worker, "POST", body=body)
    await client.task
    assert client.kept_body == body.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("before", "status", "breaks"),
    [(b"", 200, False), (b"", 200, True), (b"0123", 200, False), (b"0123", 200, True), (b"", 429, False)],
)
async def test_what_comes_until_its_turn_to_end_is_neither_sent_nor_its_end(
    worker: Worker, upstream: Upstream, caplog: pytest.LogCaptureFixture, before: bytes, status: int, breaks: bool
) -> None:
    upstream.before, upstream.status, upstream.breaks = before, status, breaks
    slot: Any = Slot()
    worker.floods = slot
    client = Client(worker)
    await upstream.is_asked.wait()
    if before:
        await client.has_some.wait()
    sent = list(client.messages)
    client.leaving.set_result({})
    await asyncio.sleep(0)
    with caplog.at_level(logging.INFO, "streamviz"):
        upstream.may_go_on.set()
        await client.task
    assert (client.closed.outcome, client.closed.error) == ("client_disconnected", "the client left")
    assert client.closed.status == (200 if before else None)
    assert client.frames == bool(before)
    assert client.messages == sent
    assert [each.message for each in caplog.records if each.name.startswith("streamviz")] == []


@pytest.mark.parametrize(("before", "state"), [(b"", State.OPENING), (b"0123", State.ANSWERING)])
async def test_where_a_call_is_can_be_told_while_it_runs(
    worker: Worker, upstream: Upstream, before: bytes, state: State
) -> None:
    upstream.before = before
    client = Client(worker)
    await upstream.is_asked.wait()
    if before:
        await client.has_some.wait()
    [stream] = worker.observers.feed.running.values()
    assert (stream.life.state, stream.life.has_begun) == (state, bool(before))
    upstream.may_go_on.set()
    await client.task
    assert (stream.life.state, stream.outcome) == (State.CLOSED, Outcome.COMPLETED)


def a_person(worker: Worker, stream: LiveStream) -> None:
    assert stream.cancel is not None
    stream.cancel("alice")


def the_server(worker: Worker, stream: LiveStream) -> None:
    for end in list(worker.running._endings):
        end()


def its_keys_end(worker: Worker, stream: LiveStream) -> None:
    worker.configuration.key_ids = frozenset()
    worker.running.end_revoked()


@pytest.mark.parametrize("before", [b"", b"0123"])
@pytest.mark.parametrize(
    ("end", "status", "outcome"),
    [(a_person, 403, "halted"), (its_keys_end, 401, "halted"), (the_server, 503, "interrupted")],
)
async def test_who_is_ended_before_the_answer_is_told_so(
    worker: Worker,
    upstream: Upstream,
    before: bytes,
    end: Callable[[Worker, LiveStream], None],
    status: int,
    outcome: str,
) -> None:
    upstream.before = before
    client = Client(worker)
    await upstream.is_asked.wait()
    if before:
        await client.has_some.wait()
    [stream] = worker.observers.feed.running.values()
    end(worker, stream)
    await client.task
    upstream.may_go_on.set()
    assert client.is_answered == (not before)
    assert client.got[0] == (200 if before else status)
    assert (client.closed.outcome, client.closed.status) == (outcome, client.got[0])
    assert client.names_stream == str(stream.id)


async def test_a_call_that_fails_is_not_logged_as_refused(
    worker: Worker, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    upstream.breaks = True
    upstream.may_go_on.set()
    client = Client(worker)
    with caplog.at_level(logging.INFO, "streamviz"):
        await client.task
    assert (client.got[0], client.closed.outcome) == (502, "upstream_error")
    assert client.names_stream == str(client.closed.stream_id)
    assert [each.message for each in caplog.records if "refused" in each.message] == []


@pytest.mark.parametrize(("most", "status", "got"), [(0, 503, b""), (1, 200, b""), (2, 200, b""), (3, 200, b"0123")])
async def test_nothing_goes_out_that_is_not_on_the_record(
    worker: Worker, upstream: Upstream, most: int, status: int, got: bytes
) -> None:
    recorder: Any = worker.observers.recorder
    recorder.most, upstream.before = most, b"0123"
    client = Client(worker)
    if most:
        await upstream.is_asked.wait()
        if got:
            await client.has_some.wait()
        upstream.may_go_on.set()
    await client.task
    assert client.got[0] == status
    if most:
        assert client.got[1] == got
        assert not client.is_answered
        assert client.closed.outcome == "interrupted"
    else:
        assert not upstream.is_asked.is_set()


@pytest.mark.parametrize("status", [700, 999])
async def test_a_status_that_no_client_knows_is_a_bad_gateway(worker: Worker, upstream: Upstream, status: int) -> None:
    upstream.status = status
    upstream.may_go_on.set()
    client = Client(worker)
    await client.task
    assert client.got[0] == HTTPStatus.BAD_GATEWAY
    assert (client.closed.outcome, client.closed.status) == ("upstream_error", 502)


@pytest.mark.parametrize(("size", "told"), [(MOST_OF_A_REFUSAL, MOST_OF_A_REFUSAL), (MOST_OF_A_REFUSAL + 1, 0)])
async def test_a_refusal_without_end_is_not_read(worker: Worker, upstream: Upstream, size: int, told: int) -> None:
    upstream.status, upstream.body = 400, b"x" * size
    upstream.may_go_on.set()
    client = Client(worker)
    await client.task
    assert client.got == (400, b"x" * told)


def form(*parts: tuple[bytes, bytes], boundary: bytes = b"x") -> bytes:
    head = b"--%b\r\nContent-Disposition: form-data; name=%b\r\n\r\n%b\r\n"
    return b"".join(head % (boundary, name, value) for name, value in parts) + b"--%b--\r\n" % boundary


def named(body: bytes, kind: bytes) -> str:
    scope: Any = {"headers": [(b"content-type", kind)]}
    return destinations._model_in(cast(HTTPScope, scope), body)


FILE = (b'"file"; filename="a"\r\nContent-Type: audio/wav', b"\r\n\r\n--y\r\n" * 50_000)
MODEL = (b'"model"', b"whisper-1")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (form(MODEL), b"multipart/form-data; boundary=x"),
        (form(FILE, MODEL), b"Multipart/Form-Data; charset=utf-8; boundary=x"),
        (form((b"model", b"whisper-1"), FILE), b"multipart/form-data; boundary=x"),
        (form(MODEL, boundary=b"a b"), b'multipart/form-data; boundary="a b"'),
        (b"said before\r\n" + form(MODEL), b"multipart/form-data; boundary=x"),
        (b'{"model": "whisper-1"}', b"application/json"),
        (b'{"a": "%b", "model": "whisper-1"}' % (b"x" * 200_000), b"application/json"),
    ],
)
def test_the_model_that_a_body_names_is_found(body: bytes, kind: bytes) -> None:
    assert named(body, kind) == "whisper-1"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (form((b'"model"; filename="a"', b"x")), b"multipart/form-data; boundary=x"),
        (
            form((b'"file"', b'\r\nContent-Disposition: form-data; name="model"\r\n\r\nx')),
            b"multipart/form-data; boundary=x",
        ),
        (form((b'"model"', b"x" * 301)), b"multipart/form-data; boundary=x"),
        (form(*[(b'"a"', b"b")] * 100, MODEL), b"multipart/form-data; boundary=x"),
        (form(MODEL), b"multipart/form-data; boundary=y"),
        (form(MODEL), b"multipart/form-data"),
        (form(MODEL, boundary=b""), b"multipart/form-data; boundary="),
        (form(MODEL), b"multipart/form-data; boundary*=x; boundary*0=x"),
        (b"\r\ncontent-disposition: form-data; name=model" * 100_000, b"multipart/form-data; boundary=x"),
        (b"--x\r\n" * 1_000_000, b"multipart/form-data; boundary=x"),
        (b'{"model": ["whisper-1"], "a": "%b"}' % (b"x" * 200_000), b"application/json"),
        (b'{"a": %b' % (b"[" * 90_000), b"application/json"),
        (b'["%b"]' % (b"x" * 200_000), b"application/json"),
        (b'{"model": "whisper-1"}', b"text/plain"),
    ],
)
def test_a_body_without_a_model_names_none(body: bytes, kind: bytes) -> None:
    assert named(body, kind) == ""


@pytest.mark.parametrize(
    "body", [b'{"model": "files", "a": [%b0]}' % (b"0," * 100_000), b"{%b}" % (b'"a":1,' * 200_000)]
)
def test_no_model_is_looked_for_among_very_many_values(body: bytes) -> None:
    with pytest.raises(RequestError) as refused:
        named(body, b"application/json")
    assert refused.value.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


async def test_what_policies_say_of_it_is_on_the_record(worker: Worker, upstream: Upstream) -> None:
    limits = ActivePolicy(build("limits", {"key": {"streams": 1}}), "limits", 7, 1, Mode.SHADOW)
    worker.configuration.policies = (ScopedPolicy("limits", 1, Mode.SHADOW, (), (), limits),)
    upstream.may_go_on.set()
    for _ in range(2):
        client = Client(worker)
        await client.task
        assert client.got == (200, BODY)
    assert [(each.policy_version_id, each.subject, each.decision) for each in verdicts(worker)] == [
        (7, "request", "allow"),
        (7, "request", "deny"),
    ]


async def test_a_denied_call_is_a_stream_that_counts_for_nothing(worker: Worker, upstream: Upstream) -> None:
    full = ActivePolicy(Refusing({}), "full", 7, 1, Mode.ENFORCE)
    worker.configuration.policies = (ScopedPolicy("full", 1, Mode.ENFORCE, (), (), full),)
    client = Client(worker)
    await client.task
    assert client.got[0] == 403
    assert b"No more files." in client.got[1]
    assert (client.closed.outcome, client.closed.status, client.closed.error) == ("halted", 403, "full: It is full.")
    assert client.names_stream == str(client.closed.stream_id)
    assert [each.decision for each in verdicts(worker)] == ["deny"]
    assert not upstream.is_asked.is_set()
    [stream] = worker.observers.feed.finished.values()
    assert worker.sessions.counts(stream.session_id, stream.requested_at).streams == 0
