"""Failures over real sockets, in every format and on both lanes: the client is told in its own format, and everything
received so far is kept."""

import json
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import pytest

from tests.core.support import parse
from tests.core.wire import legal
from tests.core.wire.official import payloads, take_in
from tests.e2e.proxied import MESSAGES, Answer, Proxied, Recorded, until
from tests.services import Serving, free_port
from tests.simulator.process import PATHS

pytestmark = pytest.mark.slow

FORMATS = tuple(PATHS)
REFUSALS = {"error-400": 400, "error-401": 401, "error-429": 429, "error-500": 500}
ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, 'SIMULATED_KEY')"
BLOCKS = "SELECT kind, text, is_truncated FROM records_block WHERE stream_id = %s ORDER BY ordinal"
BROKEN = {
    "error-midstream": "The server had an error",
    "garbage": "",
    "no-finish": "before",
    "disconnect": "",
    "stall?seconds=600": "silent for too long",
}


class Lane(NamedTuple):
    """A client's format, and the prefix that selects a model of the simulator on the raw or the translated lane."""

    spoken: str
    prefix: str

    def model(self, scenario: str) -> str:
        """The model's name; the scenario runs without delays."""
        joint = "&" if "?" in scenario else "?"
        return f"{self.prefix}{scenario}{joint}seed=3&speed=inf"


RAW = [Lane(spoken, "sim/") for spoken in FORMATS]
TRANSLATED = [
    Lane("openai_chat", "messages/"),
    Lane("anthropic_messages", "chat/"),
    Lane("openai_responses", "messages/"),
    Lane("openai_responses", "chat/"),
]
LANES = [*RAW, *TRANSLATED]
lanes = pytest.mark.parametrize("lane", LANES, ids=[f"{lane.spoken}-{lane.prefix[:-1]}" for lane in LANES])


def is_warm(proxied: Proxied, lane: Lane) -> bool:
    """Whether a first call has gone through."""
    return ask(proxied, lane, lane.model("content"), "warm-up").status == 200


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    """A streamviz that soon gives up on a silent provider, with routes to everything that these tests break."""
    with serving(SIMULATED_KEY="sk-simulated", UPSTREAM_SILENCE_SECONDS="3") as server, Proxied(server) as found:
        make_routes(found)
        for lane in TRANSLATED:
            # LiteLLM imports more of itself at its first call, which takes long.
            until(partial(is_warm, found, lane))
        yield found


def make_routes(proxied: Proxied) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    for lane in TRANSLATED[:2]:
        provider, path = ("anthropic", "") if lane.prefix == "messages/" else ("custom_openai", "/v1")
        for scenario in (*REFUSALS, *BROKEN, "content", "content?chunks=100000&pace=5"):
            name = lane.model(scenario)
            proxied.query(ROUTE, name, f"{provider}/{name.removeprefix(lane.prefix)}", f"{proxied.simulator.url}{path}")
        proxied.query(ROUTE, lane.model("nobody"), f"{provider}/m", f"{nobody}{path}")
    for provider in ("openai", "anthropic"):
        proxied.query(ROUTE, f"nobody-{provider}", f"{provider}/m", nobody)
    until(lambda: "nobody-anthropic" in {model.id for model in proxied.sdk.models.list()})


@pytest.fixture
def session() -> str:
    """A name for the session of this test's call."""
    return uuid.uuid4().hex


def asked(lane: Lane, model: str, *, stream: bool = True) -> dict[str, Any]:
    said = {"input": "Hello"} if lane.spoken == "openai_responses" else {"messages": MESSAGES}
    more = {"max_tokens": 900} if lane.spoken == "anthropic_messages" else {}
    return {"model": model, "stream": stream, **said, **more}


def ask(proxied: Proxied, lane: Lane, model: str, session: str, *, stream: bool = True) -> Answer:
    return proxied.post(asked(lane, model, stream=stream), PATHS[lane.spoken], x_session_id=session)


def error_of(spoken: str, answer: Answer) -> dict[str, Any]:
    """The error object, in the shape of the format."""
    body = json.loads(answer.body)
    assert answer.headers["content-type"].startswith("application/json")
    if spoken == "anthropic_messages":
        assert body["type"] == "error"
        kind = body["error"]["type"]
        assert kind == "request_too_large" if answer.status == 413 else kind.endswith("_error")
    error: dict[str, Any] = body["error"]
    assert error["message"]
    return error


# Before the stream


@lanes
@pytest.mark.parametrize(("scenario", "status"), REFUSALS.items())
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
def test_a_refusal_comes_with_its_status_and_the_providers_words(
    proxied: Proxied, session: str, lane: Lane, scenario: str, status: int, stream: bool
) -> None:
    answer = ask(proxied, lane, lane.model(scenario), session, stream=stream)
    kept = proxied.recorded(session)
    words = json.loads(proxied.simulator.get(f"/_sent/{last_asked(proxied)}"))["error"]["message"]
    assert (answer.status, kept.status, kept.outcome) == (status, status, "upstream_error")
    assert error_of(lane.spoken, answer)["message"] == words == kept.error
    assert ("retry-after" in answer.headers) is (status == 429)
    assert proxied.client_tape(kept) == answer.body


def last_asked(proxied: Proxied) -> str:
    return str(proxied.simulator.get_json("/_requests")["requests"][-1]["id"])


@lanes
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
def test_a_provider_that_is_not_there_is_an_upstream_error(
    proxied: Proxied, session: str, lane: Lane, stream: bool
) -> None:
    name = lane.model("nobody")
    if lane in RAW:
        name = "nobody-anthropic" if lane.spoken == "anthropic_messages" else "nobody-openai"
    answer = ask(proxied, lane, name, session, stream=stream)
    kept = proxied.recorded(session)
    assert answer.status >= 500
    assert error_of(lane.spoken, answer)
    assert (kept.outcome, kept.status, kept.chunk_count) == ("upstream_error", answer.status, 0)
    assert kept.error
    assert "sk-simulated" not in answer.body.decode() + kept.error


# In the middle


@lanes
@pytest.mark.parametrize(("scenario", "words"), BROKEN.items())
def test_a_stream_that_breaks_ends_with_an_error_in_the_clients_format(
    proxied: Proxied, session: str, lane: Lane, scenario: str, words: str
) -> None:
    answer = ask(proxied, lane, lane.model(scenario), session)
    kept = proxied.recorded(session)
    assert answer.status == 200
    assert words in told_at_the_end(lane.spoken, answer.body)
    assert kept.outcome == "upstream_error"
    assert kept.error
    assert proxied.client_tape(kept) == answer.body
    assert_what_came_is_kept(proxied, lane, kept, answer.body)
    if (lane.spoken, lane.prefix, scenario) != ("openai_responses", "sim/", "error-midstream"):
        # In that case the end is upstream's own, which does not close what it had begun.
        legal.check(lane.spoken, payloads(answer.body))


def told_at_the_end(spoken: str, data: bytes) -> str:
    """The message of the error that ends a stream, in the way that the format ends one."""
    events = [chunk for chunk in parse(data) if chunk.data not in (None, b"[DONE]")]
    last = json.loads(events[-1].data or b"")
    if spoken == "openai_responses":
        assert last["type"] == "response.failed"
        last = last["response"]
    elif spoken == "anthropic_messages":
        assert (last["type"], events[-1].name) == ("error", "error")
    words: str = last["error"]["message"]
    return words


def assert_what_came_is_kept(proxied: Proxied, lane: Lane, kept: Recorded, data: bytes) -> None:
    """Assert that the open block is truncated and contains the text that the client got."""
    [(kind, text, is_truncated)] = proxied.query(BLOCKS, kept.id)
    aggregator, _ = take_in(lane.spoken, data)
    assert (kind, is_truncated) == ("content", True)
    assert text == aggregator.state.blocks[0].text != ""


@pytest.mark.parametrize("lane", RAW, ids=FORMATS)
@pytest.mark.parametrize("scenario", ["garbage", "disconnect", "stall?seconds=600", "error-midstream"])
def test_a_whole_answer_that_breaks_is_an_error(proxied: Proxied, session: str, lane: Lane, scenario: str) -> None:
    answer = ask(proxied, lane, lane.model(scenario), session, stream=False)
    kept = proxied.recorded(session)
    assert answer.status >= 500
    assert error_of(lane.spoken, answer)
    assert kept.outcome == "upstream_error"


# The client leaves


@lanes
def test_upstream_is_closed_when_the_client_leaves(proxied: Proxied, session: str, lane: Lane) -> None:
    model = lane.model("content?chunks=100000&pace=5")
    with proxied.posting(asked(lane, model), PATHS[lane.spoken], x_session_id=session) as response:
        pieces = response.iter_raw()
        came = next(pieces) + next(pieces)
        upstream = last_asked(proxied)
    assert proxied.simulator.get_json(f"/_ended/{upstream}")["closed_early"] is True
    kept = proxied.recorded(session)
    tape = proxied.client_tape(kept)
    assert kept.outcome == "client_disconnected"
    assert tape.startswith(came)
    passed = proxied.passed(kept)
    assert kept.chunk_count >= len(passed) > 0
    assert kept.error == f"the client left after chunk {passed[-1]}"


# The client reads slowly


def test_a_client_that_does_not_read_slows_upstream_down(proxied: Proxied, session: str) -> None:
    body = json.dumps(asked(RAW[0], "sim/content?chunks=60000&speed=inf")).encode()
    with closing(slow_client(proxied, PATHS["openai_chat"], body, session)) as client:
        head = client.recv(4096)
        [upstream] = re.findall(r"x-simulator-request: (\S+)", head.decode(), re.IGNORECASE)
        sent = until(lambda: standstill(proxied, upstream))
        read_to_end(client)
    progress = proxied.simulator.get_json(f"/_ended/{upstream}")
    kept = proxied.recorded(session)
    # The buffers of both connections' sockets hold up to ten megabytes.
    assert sent < progress["bytes_sent"] * 0.8
    assert progress["closed_early"] is False
    assert kept.outcome == "completed"
    assert kept.chunk_count == kept.frame_count > 60_000


def slow_client(proxied: Proxied, path: str, body: bytes, session: str) -> socket.socket:
    """A client that has sent its request and reads nothing unless told to."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
    client.connect(("127.0.0.1", proxied.server.port))
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {proxied.server.api_key}\r\n"
        f"x-session-id: {session}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    client.sendall(head.encode() + body)
    return client


def standstill(proxied: Proxied, upstream: str) -> int:
    """How much upstream has sent, once the number no longer changes."""
    before = -1
    for _ in range(20):
        [now] = [
            row["bytes_sent"] for row in proxied.simulator.get_json("/_open")["responses"] if row["id"] == upstream
        ]
        if now == before and now > 0:
            return int(now)
        before = now
        # The simulator's event loop runs many times meanwhile: it would send everything if nothing blocked it.
        for _ in range(50):
            proxied.simulator.get("/healthz")
    return 0


def read_to_end(client: socket.socket) -> None:
    while client.recv(1 << 20):
        pass


# Bad requests

WRONG: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("not JSON", b"not JSON"),
    ("a list", b"[]"),
    ("deep", b'{"a":' * 100_000),
    ("not UTF-8", b'{"model": "\xff"}'),
    ("no model", b'{"messages": [], "input": ""}'),
    ("a number for a model", b'{"model": 7, "messages": [], "input": ""}'),
    ("a number for the turns", b'{"model": "sim/content", "messages": 7, "input": 7}'),
    ("a text for stream", b'{"model": "sim/content", "messages": [], "input": "", "stream": "yes"}'),
]


@pytest.mark.parametrize("spoken", FORMATS)
@pytest.mark.parametrize("body", [body for _, body in WRONG], ids=[name for name, _ in WRONG])
def test_a_wrong_request_is_told_so_in_the_formats_shape(proxied: Proxied, spoken: str, body: bytes) -> None:
    answer = proxied.post(body, PATHS[spoken])
    assert answer.status == 400
    assert error_of(spoken, answer)["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", [*PATHS.values(), "/v1/messages/count_tokens"])
def test_fifty_megabytes_are_too_large(proxied: Proxied, path: str) -> None:
    answer = proxied.post(b'{"model": "sim/content", "x": "' + b"x" * 50_000_000 + b'"}', path)
    assert answer.status == 413
    assert error_of("anthropic_messages" if "messages" in path else "openai_chat", answer)


@pytest.mark.parametrize("spoken", FORMATS)
def test_a_model_that_nobody_has_is_not_found(proxied: Proxied, spoken: str) -> None:
    answer = proxied.post(asked(Lane(spoken, ""), "no-such-model"), PATHS[spoken])
    assert answer.status == 404
    assert error_of(spoken, answer)["type"] == "not_found_error"


@pytest.mark.parametrize("spoken", FORMATS)
@pytest.mark.parametrize("headers", [{}, {"x-api-key": "sv-wrong"}, {"authorization": "Bearer sv-wrong"}])
def test_no_key_and_a_wrong_key_let_nobody_in(proxied: Proxied, spoken: str, headers: dict[str, str]) -> None:
    response = proxied.http.post(PATHS[spoken], json=asked(Lane(spoken, ""), "sim/content"), headers=headers)
    answer = Answer(response.status_code, response.headers, response.content)
    assert answer.status == 401
    assert error_of(spoken, answer)["type"] == "authentication_error"
    assert b"sv-wrong" not in answer.body


@pytest.mark.parametrize("spoken", FORMATS)
def test_a_key_may_come_in_anthropics_header(proxied: Proxied, spoken: str) -> None:
    body = asked(Lane(spoken, ""), "sim/content?speed=inf", stream=False)
    response = proxied.http.post(PATHS[spoken], json=body, headers={"x-api-key": proxied.server.api_key})
    assert response.status_code == 200


@pytest.mark.parametrize("spoken", FORMATS)
def test_a_parameter_that_cannot_be_translated_is_refused(proxied: Proxied, spoken: str) -> None:
    [lane] = [lane for lane in TRANSLATED[:3] if lane.spoken == spoken]
    body = {**asked(lane, lane.model("content")), "api_base": "http://evil.test"}
    answer = proxied.post(body, PATHS[spoken])
    assert answer.status == 400
    assert "api_base" in error_of(spoken, answer)["message"]
