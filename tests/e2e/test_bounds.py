"""Oversized bodies and answers, and revoked keys: refused or ended at once, in the client's format."""

import json
import socket
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anthropic
import openai
import psutil
import pytest

from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Serving

pytestmark = pytest.mark.slow

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, '')"
PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/messages/count_tokens")
JSON = "application/json"
HUGE = 300 * 2**20


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    limits = {
        "MAX_REQUEST_MB": "2",
        "MAX_ANSWER_MB": "3",
        "MAX_EVENT_MB": "1",
        "MAX_EVENTS": "100000",
        "MAX_BLOCKS": "50",
        "MAX_VALUES": "9000",
    }
    with serving(**limits) as server, Proxied(server) as found:
        yield found


class Raw:
    """A client on a raw socket: it sends whatever it likes and reads whatever arrives."""

    def __init__(self, port: int, head: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.sendall(head.encode())

    def sent_until_refused(self, piece: bytes) -> int:
        """How many bytes it could send before an answer arrived."""
        sent = 0
        self.socket.setblocking(False)
        while sent < HUGE:
            try:
                if self.socket.recv(1, socket.MSG_PEEK):
                    break
            except BlockingIOError:
                pass
            try:
                sent += self.socket.send(piece)
            except BlockingIOError:
                continue
        self.socket.settimeout(120)
        return sent

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body, once the server has closed the connection."""
        data = b""
        while piece := self.socket.recv(65536):
            data += piece
        self.socket.close()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        return int(first.split()[1]), headers, body


def head(path: str, key: str, *lines: str, kind: str = JSON) -> str:
    own = [f"Authorization: Bearer {key}"] if key else []
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", *own, *lines, "", ""])


def open_files(proxied: Proxied) -> list[str]:
    """The unlinked files that streamviz's processes have open: request bodies are spooled to such files."""
    everyone = [psutil.Process(proxied.server.pid), *psutil.Process(proxied.server.pid).children(recursive=True)]
    found = []
    for process in everyone:
        for link in Path(f"/proc/{process.pid}/fd").glob("*"):
            try:
                found.append(str(link.readlink()))
            except OSError:
                continue
    return [each for each in found if each.startswith(tempfile.gettempdir()) and "(deleted)" in each]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("key", ["", "sv-not-a-key"])
@pytest.mark.parametrize("length", [f"Content-Length: {HUGE}", "Transfer-Encoding: chunked"])
def test_without_a_key_no_body_is_taken(proxied: Proxied, path: str, key: str, length: str) -> None:
    client = Raw(proxied.server.port, head(path, key, length))
    status, headers, body = client.answer()
    assert (status, headers["connection"], headers["x-content-type-options"]) == (401, "close", "nosniff")
    assert "API key" in json.loads(body)["error"]["message"]
    assert open_files(proxied) == []


def test_a_body_that_says_that_it_is_too_long_is_not_taken(proxied: Proxied) -> None:
    client = Raw(proxied.server.port, head(PATHS[0], proxied.server.api_key, f"Content-Length: {HUGE}"))
    status, _, body = client.answer()
    assert (status, json.loads(body)["error"]["code"]) == (413, "too_large")


def test_a_body_that_does_not_say_is_taken_up_to_the_limit(proxied: Proxied) -> None:
    client = Raw(proxied.server.port, head(PATHS[0], proxied.server.api_key, "Transfer-Encoding: chunked"))
    sent = client.sent_until_refused(b"10000\r\n" + b"x" * 65536 + b"\r\n")
    assert 2 * 2**20 <= sent < 64 * 2**20
    status, _, body = client.answer()
    assert (status, json.loads(body)["error"]["code"]) == (413, "too_large")


def test_a_client_that_waits_to_be_asked_for_its_body_is_not(proxied: Proxied) -> None:
    client = Raw(proxied.server.port, head(PATHS[0], "", f"Content-Length: {HUGE}", "Expect: 100-continue"))
    assert client.answer()[0] == 401


def test_a_body_that_is_compressed_in_another_way_is_refused(proxied: Proxied) -> None:
    lines = (f"Content-Length: {HUGE}", "Content-Encoding: br")
    client = Raw(proxied.server.port, head(PATHS[1], proxied.server.api_key, *lines))
    status, _, body = client.answer()
    assert (status, json.loads(body)["type"]) == (415, "error")


@pytest.mark.parametrize(
    ("kind", "status"), [("application/x-www-form-urlencoded", 413), ("multipart/form-data", 413), (JSON, 404)]
)
def test_a_long_body_for_a_page_is_refused_unread(proxied: Proxied, kind: str, status: int) -> None:
    """No page takes JSON: who sends it gets what a client of models gets that has a wrong base URL."""
    client = Raw(proxied.server.port, head("/sign-in/", "", f"Content-Length: {HUGE}", kind=kind))
    assert client.answer()[0] == status


def test_the_sdks_say_what_was_wrong(proxied: Proxied) -> None:
    long: Any = [{"role": "user", "content": "x" * 3 * 2**20}]
    with pytest.raises(openai.APIStatusError) as too_large:
        proxied.sdk.chat.completions.create(model="sim/content", messages=long)
    assert too_large.value.status_code == 413
    with pytest.raises(openai.AuthenticationError):
        proxied.sdk.with_options(api_key="sv-none").chat.completions.create(model="sim/content", messages=long)
    other = anthropic.Anthropic(base_url=proxied.server.base_url, api_key="sv-none", max_retries=0)
    with pytest.raises(anthropic.AuthenticationError):
        other.messages.create(model="sim/content", max_tokens=9, messages=long)


@pytest.mark.parametrize("path", PATHS)
def test_a_request_of_too_many_values_is_refused(proxied: Proxied, path: str) -> None:
    headers = {"authorization": f"Bearer {proxied.server.api_key}"}
    body = {"model": "sim/content", "messages": MESSAGES, "max_tokens": 9, "x": [{}] * 9_000}
    answer = proxied.http.post(path, json=body, headers=headers)
    assert (answer.status_code, "MAX_VALUES" in answer.json()["error"]["message"]) == (413, True)
    assert ("type" in answer.json()) is path.startswith(PATHS[1])


def test_a_request_within_the_limit_is_answered_as_ever(proxied: Proxied) -> None:
    long: Any = [{"role": "user", "content": "x" * 2**20}]
    assert proxied.sdk.chat.completions.create(model="sim/content?speed=inf", messages=long).choices


def text(content: str) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": None}
    return b"data: " + json.dumps({**chunk, "choices": [choice]}).encode() + b"\n\n"


def call(number: int) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    function = {"name": "f", "arguments": "{}"}
    made = {"index": number, "id": f"call-{number}", "type": "function", "function": function}
    choice = {"index": 0, "delta": {"tool_calls": [made]}, "finish_reason": None}
    return b"data: " + json.dumps({**chunk, "choices": [choice]}).encode() + b"\n\n"


def endless(write: Callable[[bytes], object]) -> None:
    while True:
        write(text("x" * 10_000))


def long_event(write: Callable[[bytes], object]) -> None:
    write(text("first"))
    write(b'data: {"choices": [{"delta": {"content": "')
    while True:
        write(b"x" * 10_000)


def many_events(write: Callable[[bytes], object]) -> None:
    write(text("first"))
    while True:
        write(b":\n\n" * 10_000)


def many_blocks(write: Callable[[bytes], object]) -> None:
    number = 0
    while True:
        write(call(number := number + 1))


def calls_at_once(write: Callable[[bytes], object]) -> None:
    write(text("first"))
    calls = [{"index": n, "id": f"c-{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(1_000)]
    choice = {"index": 0, "delta": {"tool_calls": calls}, "finish_reason": None}
    write(b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).encode())
    write(b"\n\ndata: [DONE]\n\n")


def values_at_once(write: Callable[[bytes], object]) -> None:
    write(text("first"))
    write(b'data: {"choices":[],"x":[' + b"{}," * 9_000 + b"1]}\n\ndata: [DONE]\n\n")


def whole_values(write: Callable[[bytes], object]) -> None:
    write(b'{"choices":[],"x":[' + b"{}," * 9_000 + b"1]}")


def whole_chat(write: Callable[[bytes], object]) -> None:
    calls = [{"id": f"c-{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(60)]
    choice = {"index": 0, "message": {"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"}
    write(json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode())


def whole_message(write: Callable[[bytes], object]) -> None:
    content = [{"type": "tool_use", "id": f"t-{n}", "name": "f", "input": {}} for n in range(60)]
    write(json.dumps({"id": "m", "type": "message", "role": "assistant", "content": content}).encode())


def whole_response(write: Callable[[bytes], object]) -> None:
    called = {"type": "function_call", "name": "f", "arguments": "{}"}
    output = [{**called, "id": f"f-{n}", "call_id": f"c-{n}"} for n in range(60)]
    write(json.dumps({"id": "r", "object": "response", "status": "completed", "output": output}).encode())


@pytest.fixture
def upstream(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a provider that answers as given by the test's parameter."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
            self.end_headers()
            try:
                request.param(self.wfile.write)
            except OSError:
                return

        def log_message(self, format: str, *arguments: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("upstream", "setting"),
    [
        (endless, "MAX_ANSWER_MB"),
        (long_event, "MAX_EVENT_MB"),
        (many_events, "MAX_EVENTS"),
        (many_blocks, "MAX_BLOCKS"),
        (calls_at_once, "MAX_BLOCKS"),
        (values_at_once, "MAX_VALUES"),
    ],
    indirect=["upstream"],
)
def test_an_answer_without_end_is_cut_off_and_the_sdk_says_so(proxied: Proxied, upstream: str, setting: str) -> None:
    name, session = f"route-{uuid.uuid4().hex}", uuid.uuid4().hex
    proxied.query(ROUTE, name, "openai/x", upstream)
    until(lambda: proxied.post({"model": name, "messages": MESSAGES}, x_session_id=uuid.uuid4().hex).status != 404)
    messages: Any = MESSAGES
    headers = {"x-session-id": session}
    stream = proxied.sdk.chat.completions.create(model=name, messages=messages, stream=True, extra_headers=headers)
    got = 0
    with pytest.raises(openai.APIError, match=setting):
        for _ in stream:
            got += 1
    assert got
    recorded = proxied.recorded(session)
    assert (recorded.outcome, setting in recorded.error) == ("upstream_error", True)
    assert recorded.chunk_count == len(proxied.chunks(recorded))
    received = sum(map(len, proxied.chunks(recorded)))
    assert received < 4 * 2**20


@pytest.mark.parametrize(
    ("upstream", "path", "provider", "setting"),
    [
        (whole_chat, PATHS[0], "openai", "MAX_BLOCKS"),
        (whole_message, PATHS[1], "anthropic", "MAX_BLOCKS"),
        (whole_response, PATHS[2], "openai", "MAX_BLOCKS"),
        (whole_values, PATHS[0], "openai", "MAX_VALUES"),
        (whole_values, PATHS[1], "anthropic", "MAX_VALUES"),
    ],
    indirect=["upstream"],
)
def test_a_whole_answer_of_too_much_is_refused(
    proxied: Proxied, upstream: str, path: str, provider: str, setting: str
) -> None:
    name, session = f"route-{uuid.uuid4().hex}", uuid.uuid4().hex
    proxied.query(ROUTE, name, f"{provider}/x", upstream)
    body = {"model": name, "messages": MESSAGES, "input": "x", "max_tokens": 9}
    body.pop("messages" if path == PATHS[2] else "input")
    headers = {"authorization": f"Bearer {proxied.server.api_key}", "x-session-id": session}
    answer = until(
        lambda: found if (found := proxied.http.post(path, json=body, headers=headers)).status_code != 404 else None
    )
    assert answer.status_code == 502
    assert setting in answer.json()["error"]["message"]
    assert ("type" in answer.json()) is (path == PATHS[1])
    recorded = proxied.recorded(session)
    assert (recorded.outcome, setting in recorded.error) == ("upstream_error", True)


@pytest.mark.parametrize("path", PATHS[:3])
def test_a_running_stream_ends_with_its_key(proxied: Proxied, path: str) -> None:
    session, name = uuid.uuid4().hex, uuid.uuid4().hex
    secret = issue(proxied, name)
    said = {"input": "Hello"} if path.endswith("responses") else {"messages": MESSAGES, "max_tokens": 900}
    body = {"model": "sim/stall?seconds=600&speed=50", "stream": True, **said}
    headers = {"authorization": f"Bearer {secret}", "x-session-id": session}
    with proxied.http.stream("POST", path, json=body, headers=headers) as response:
        pieces = response.iter_raw()
        first = next(pieces)
        proxied.query("UPDATE records_apikey SET revoked_at = now() WHERE name = %s", name)
        rest = b"".join(pieces)
    assert first
    assert b"The API key was revoked." in rest
    recorded = proxied.recorded(session)
    assert (recorded.outcome, recorded.error) == ("halted", "its key was revoked")
    assert until(lambda: not proxied.open_upstream())


def issue(proxied: Proxied, name: str) -> str:
    """Create a key and wait until it is in force."""
    from streamviz.records.models.access import digest

    secret = f"sv-{uuid.uuid4().hex}"
    made = "INSERT INTO records_apikey (name, prefix, digest, created_at) VALUES (%s, 'sv', %s, now())"
    proxied.query(made, name, digest(secret))
    body = {"model": "sim/content?speed=inf", "messages": MESSAGES}
    headers = {"authorization": f"Bearer {secret}"}
    until(lambda: proxied.http.post(PATHS[0], json=body, headers=headers).status_code == 200)
    return secret
