"""Failures of streamviz itself: reported in the client's format, logged once, and recorded as an end."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from streamviz.live.feed import Feed
from streamviz.proxy import asgi, http
from streamviz.proxy.early import MOST_OF_A_FORM, malformed, no_websocket, passage
from streamviz.proxy.observers import Observers
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey, KnownRoute
from streamviz.records.journal import room
from streamviz.records.journal.journal import Journal
from streamviz.records.models.access import digest
from streamviz.records.recorder import AnyEntry, StreamClosed, StreamOpened
from tests.records.support import ROOM

KEY = "sv-a-key"
SECRET = "what only the log may say"
FORMATS = ("/v1/chat/completions", "/v1/messages", "/v1/responses")
TYPES = {"/v1/messages": "api_error"}


class Kept:
    """A record in a list."""

    def __init__(self) -> None:
        self.entries: list[AnyEntry] = []

    def append(self, entry: AnyEntry) -> None:
        self.entries.append(entry)

    def flush(self) -> None:
        """Nothing to flush."""

    def has_lost(self, stream_id: object) -> bool:
        return False


class Broken:
    """An upstream client with a bug."""

    async def post(self, *_: object, **__: object) -> object:
        raise KeyError(SECRET)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    made = Worker()
    made.configuration.keys[digest(KEY)] = KnownKey(1, "a-key")
    made.configuration.key_ids = frozenset([1])
    for name in ("openai", "anthropic"):
        made.configuration.routes[name] = KnownRoute(f"{name}/x", "http://127.0.0.1:1", "")
    made.client = cast(Any, Broken())
    made.journal = Journal(tmp_path, ROOM)
    made.observers = Observers(cast(Any, Kept()), Feed())
    monkeypatch.setattr(asgi, "worker", made)
    yield made
    made.journal.close()


async def answered(path: str, body: dict[str, Any], more: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """The proxy's answer to a request with `more` headers: its status and JSON."""
    sent: list[Any] = []
    to_come = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

    async def receive() -> Any:
        return to_come.pop() if to_come else await stays()

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    told = {"authorization": f"Bearer {KEY}", **(more or {})}
    headers = [(name.encode(), value.encode()) for name, value in told.items()]
    await asgi.application(cast(Any, {**scope, "client": ("127.0.0.1", 1), "headers": headers}), receive, send)
    return sent[0]["status"], json.loads(b"".join(each["body"] for each in sent[1:]))


async def stays() -> Any:
    """A client that does not leave."""
    await asyncio.Event().wait()


def asked(path: str) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "user", "content": "Hello"}
    turns = {"input": "Hello"} if path.endswith("responses") else {"messages": [said], "max_tokens": 9}
    return {"model": "anthropic" if path.endswith("messages") else "openai", "stream": True, **turns}


@pytest.mark.parametrize("path", [*FORMATS, "/v1/messages/count_tokens"])
async def test_an_endpoint_that_raises_is_told_in_the_clients_format(
    worker: Worker, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setitem(asgi.ENDPOINTS, path, ("POST", fails))
    status, said = await answered(path, {})
    assert (status, said["error"]["type"]) == (500, "api_error" if "messages" in path else "server_error")
    assert SECRET not in json.dumps(said)
    assert "Traceback" not in json.dumps(said)
    assert [each.exc_info is not None for each in caplog.records if each.levelno == logging.ERROR] == [True]


async def test_a_whole_answer_that_is_cut_off_is_a_line_in_the_log(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def cut_off(*given: Any) -> None:
        await http.start(given[-1], 200, {})
        raise http.CannotEnd("upstream cut off the response")

    monkeypatch.setitem(asgi.ENDPOINTS, FORMATS[0], ("POST", cut_off))
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {"type": "http", "method": "POST", "path": FORMATS[0], "headers": []}
    await asgi.application(cast(Any, scope), cast(Any, stays), send)
    assert [each["type"] for each in sent] == ["http.response.start"]
    [line] = [each for each in caplog.records if each.name.startswith("streamviz")]
    assert (line.levelno, line.exc_info) == (logging.WARNING, None)
    assert "upstream cut off the response" in line.getMessage()


@pytest.mark.parametrize("path", FORMATS)
async def test_a_stream_that_was_opened_is_closed_with_an_outcome(
    worker: Worker, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    status, said = await answered(path, asked(path))
    assert (status, said["error"]["type"]) == (500, TYPES.get(path, "server_error"))
    assert SECRET not in json.dumps(said)
    entries = cast(Kept, worker.observers.recorder).entries
    assert isinstance(entries[0], StreamOpened)
    [end] = [each for each in entries if isinstance(each, StreamClosed)]
    assert (end.outcome, end.status) == ("interrupted", 500)
    assert SECRET not in end.error
    assert len([each for each in caplog.records if each.exc_info]) == 1


@pytest.mark.parametrize("path", FORMATS)
def test_where_nothing_can_be_recorded_no_body_is_taken(
    worker: Worker, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = [(b"authorization", f"Bearer {KEY}".encode())]
    assert passage(worker, path.encode(), headers)(9) is None
    monkeypatch.setattr(room, "RESERVE_BYTES", 2**62)
    monkeypatch.setattr(worker, "journal", Journal(worker.journal.path.parent, ROOM))
    answer = passage(worker, path.encode(), headers)(9)
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"cannot record new streams" in answer
    assert b"overloaded_error" in answer
    assert passage(worker, b"/v1/models", headers)(0) is None


async def test_a_worker_that_ends_its_streams_takes_no_body(worker: Worker) -> None:
    headers = [(b"authorization", f"Bearer {KEY}".encode())]
    await worker.running.drain(0, lambda: False)
    answer = passage(worker, FORMATS[0].encode(), headers)(9)
    assert answer is not None
    assert b"stopping" in answer


def test_a_long_call_at_another_base_url_is_told_where_it_is(worker: Worker) -> None:
    check = passage(worker, b"/anthropic/v1/messages", [])
    assert check(MOST_OF_A_FORM) is None
    answer = check(MOST_OF_A_FORM + 1)
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"/v1/messages is. Check the base URL." in answer


JSON = (b"content-type", b"application/json; charset=utf-8")
BEARER = (b"authorization", b"Bearer a-key")


@pytest.mark.parametrize(
    ("path", "headers", "kind"),
    [
        ("/", [JSON], '{"error":{"message"'),
        ("/", [JSON, (b"anthropic-version", b"2023-06-01")], '{"type":"error"'),
        ("/other", [JSON, (b"x-goog-api-key", b"a-key")], '"status":"NOT_FOUND"'),
        ("/other", [(b"content-type", b"multipart/form-data"), BEARER], '{"error":{"message"'),
    ],
)
def test_a_long_call_at_no_path_of_ours_is_told_so_in_the_clients_format(
    worker: Worker, path: str, headers: list[tuple[bytes, bytes]], kind: str
) -> None:
    answer = (passage(worker, path.encode(), headers)(MOST_OF_A_FORM + 1) or b"").decode()
    assert answer.startswith("HTTP/1.1 404 ")
    assert kind in answer


def test_a_long_form_is_told_so(worker: Worker) -> None:
    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    form = passage(worker, b"/sessions/", headers)(MOST_OF_A_FORM + 1)
    assert form is not None
    assert form.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("/v1/chat/completions?x=y", '"type":"invalid_request_error"'),
        ("/v1/messages", '{"type":"error"'),
        ("/v1beta/models/m:generateContent", '"status":"INVALID_ARGUMENT"'),
        ("/sessions/", "The request"),
        ("/%ff\xff", "The request"),
    ],
)
@pytest.mark.parametrize("status", [400, 414, 431])
def test_a_malformed_request_is_told_so_in_the_clients_format(target: str, kind: str, status: int) -> None:
    answer = malformed(target.encode("latin-1"), status).decode()
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert kind in answer.partition("\r\n\r\n")[2]


def test_a_request_for_which_there_is_no_room_may_be_tried_again() -> None:
    head, _, body = malformed(b"/v1/messages", 503, "the request cannot be kept").decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 503 ")
    assert "retry-after: 5" in head.split("\r\n")
    assert json.loads(body)["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("target", ["/v1/responses", "/responses", "/v1/realtime?model=m"])
def test_a_websocket_is_refused_where_models_are_called(target: str) -> None:
    head, _, body = (no_websocket(target.encode(), []) or b"").decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 426 Upgrade Required")
    assert {"upgrade: HTTP/1.1", "connection: close, upgrade"} <= set(head.split("\r\n"))
    assert json.loads(body)["error"]["code"] == "upgrade_required"


@pytest.mark.parametrize("target", ["/ws/streams/", "/", "/sessions/"])
def test_a_websocket_of_a_page_is_not_refused(target: str) -> None:
    assert no_websocket(target.encode(), []) is None
