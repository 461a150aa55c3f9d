"""The raw lane, with a real server."""

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from streamviz.core.bounds import Bounds
from streamviz.core.errors import UpstreamError
from streamviz.upstream.answer import BoundedAnswer
from streamviz.upstream.raw import READ_BYTES, RawAnswer, new_client, open_raw, passed_on, refusal_without
from streamviz.upstream.targets import RoutePlan, Target, resolve, simulator_target
from tests.clock import Clock
from tests.conftest import missing
from tests.services import free_port
from tests.simulator.process import Simulator

SILENCE_SECONDS = 30


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    client = new_client(SILENCE_SECONDS)
    yield client
    await client.close()


def target(simulator: Simulator, model: str) -> Target:
    return simulator_target(f"sim/{model}", "openai_chat", simulator.url)


async def ask(client: aiohttp.ClientSession, simulator: Simulator, model: str, stream: bool = True) -> RawAnswer:
    body = json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": "Hello"}]})
    return await open_raw(client, target(simulator, model), body.encode(), {})


async def test_the_bytes_are_what_upstream_sent(client: aiohttp.ClientSession, simulator: Simulator) -> None:
    answer = await ask(client, simulator, "content?chunks=500")
    data = b"".join([piece async for piece in answer])
    assert data == simulator.get(f"/_sent/{answer.headers['x-simulator-request']}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize(
    ("model", "status", "kind"),
    [
        ("error-400", 400, "invalid_request_error"),
        ("error-401", 401, "invalid_request_error"),
        ("error-429", 429, "requests"),
        ("error-500", 500, "server_error"),
        ("no-such-scenario", 404, "invalid_request_error"),
    ],
)
async def test_a_refusal_keeps_status_body_and_words(
    client: aiohttp.ClientSession, simulator: Simulator, model: str, status: int, kind: str
) -> None:
    with pytest.raises(UpstreamError) as raised:
        await ask(client, simulator, model)
    error = raised.value
    assert (error.status, error.kind) == (status, kind)
    assert json.loads(error.body)["error"]["message"] == error.message
    assert error.body == simulator.get(f"/_sent/{error.headers['x-simulator-request']}")


async def test_a_refusal_says_when_to_come_back(client: aiohttp.ClientSession, simulator: Simulator) -> None:
    with pytest.raises(UpstreamError) as raised:
        await ask(client, simulator, "error-429")
    assert int(raised.value.headers["retry-after"]) > 0


async def test_a_provider_that_is_not_there_is_a_bad_gateway(client: aiohttp.ClientSession) -> None:
    nowhere = simulator_target("sim/content", "openai_chat", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(UpstreamError) as raised:
        await open_raw(client, nowhere, b"{}", {})
    assert raised.value.status == 502
    assert "simulator" in raised.value.message


async def test_a_redirect_is_not_followed(client: aiohttp.ClientSession) -> None:
    followed: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        followed.append(request.path)
        return web.Response(status=307, headers={"location": "/elsewhere"})

    async with RawTestServer(answer) as server:
        elsewhere = simulator_target("sim/content", "openai_chat", str(server.make_url("")).rstrip("/"))
        with pytest.raises(UpstreamError) as raised:
            await open_raw(client, elsewhere, b"{}", {})
    assert raised.value.status == 502
    assert followed == ["/v1/chat/completions"]


@pytest.mark.parametrize("stream", [True, False])
async def test_breaking_off_is_an_error_after_all_that_came(
    client: aiohttp.ClientSession, simulator: Simulator, stream: bool
) -> None:
    answer = await ask(client, simulator, "disconnect", stream)
    came = b""
    with pytest.raises(UpstreamError) as raised:
        async for piece in answer:
            came += piece
    answer.close()
    assert raised.value.status == 502
    assert came == simulator.get(f"/_sent/{answer.headers['x-simulator-request']}")


@asynccontextmanager
async def half_answered(client: aiohttp.ClientSession) -> AsyncIterator[tuple[RawAnswer, asyncio.Event]]:
    """An answer whose first half has arrived, and the event that makes upstream send the other half."""
    may_go_on = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        await may_go_on.wait()
        await response.write(b"data: 2\n\n")
        await response.write_eof()
        return response

    async with RawTestServer(answer) as server:
        raw, _ = await answered_by(client, server)
        try:
            yield raw, may_go_on
        finally:
            raw.close()
            may_go_on.set()


async def test_silence_in_the_middle_is_an_error_after_all_that_came(client: aiohttp.ClientSession) -> None:
    async with half_answered(client) as (answer, _):
        clock = Clock()
        assert await anext(answer) == b"data: 1\n\n"
        waiting = asyncio.ensure_future(anext(answer))
        await asyncio.sleep(0)
        await clock.pass_on(SILENCE_SECONDS / 2)
        assert not waiting.done()
        await clock.pass_on(SILENCE_SECONDS)
        with pytest.raises(UpstreamError) as raised:
            await waiting
    assert raised.value.status == 504


async def test_a_reader_that_takes_its_time_is_not_upstreams_silence(client: aiohttp.ClientSession) -> None:
    async with half_answered(client) as (answer, may_go_on):
        clock = Clock()
        assert await anext(answer) == b"data: 1\n\n"
        may_go_on.set()
        await answer._response.content.wait_eof()
        await clock.pass_on(10 * SILENCE_SECONDS)
        assert [piece async for piece in answer] == [b"data: 2\n\n"]


async def test_closing_ends_the_connection_in_the_middle(client: aiohttp.ClientSession, simulator: Simulator) -> None:
    answer = await ask(client, simulator, "stall?seconds=600&speed=20")
    async for _ in answer:
        break
    answer.close()
    ended = await asyncio.to_thread(simulator.get_json, f"/_ended/{answer.headers['x-simulator-request']}")
    assert ended["closed_early"] is True


async def test_connections_are_used_again(client: aiohttp.ClientSession, simulator: Simulator) -> None:
    connector = client.connector
    assert connector is not None
    for _ in range(3):
        assert [piece async for piece in await ask(client, simulator, "content?chunks=3", stream=False)]
    assert sum(map(len, connector._conns.values())) == 1


async def answered_by(
    client: aiohttp.ClientSession, server: RawTestServer, most: int | None = None, key: str = ""
) -> tuple[RawAnswer, BoundedAnswer]:
    address = str(server.make_url("/v1"))
    found = resolve("here", "openai_chat", RoutePlan("openai/m", address, "")).with_key("")
    answer = await open_raw(client, replace(found, key=key, key_header=""), b"{}", {})
    return answer, BoundedAnswer(answer, Bounds(10**9 if most is None else most, 10**9, 10**6, 10, 10))


async def test_the_end_of_an_answer_is_known_with_the_last_of_it_where_that_is_there(
    client: aiohttp.ClientSession,
) -> None:
    more = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        await more.wait()
        await response.write(b"data: 2\n\n")
        await response.write_eof()
        return response

    async with RawTestServer(answer) as server:
        raw, bounded = await answered_by(client, server)
        assert (await anext(bounded), bounded.has_ended) == (b"data: 1\n\n", False)
        more.set()
        await raw._response.content.wait_eof()
        assert not bounded.has_ended  # some of it has not been read yet
        assert (await anext(bounded), bounded.has_ended) == (b"data: 2\n\n", True)
        assert await anext(bounded, None) is None
        raw.close()


@pytest.mark.parametrize(("body", "most", "key"), [(b"1234", 3, ""), (b"12 sk-1234567", None, "sk-123456789012345")])
async def test_the_end_of_an_answer_is_not_known_where_it_is_an_error_or_something_waits(
    client: aiohttp.ClientSession, body: bytes, most: int | None, key: str
) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(body=body)

    async with RawTestServer(answer) as server:
        raw, bounded = await answered_by(client, server, most, key)
        await raw._response.content.wait_eof()
        await anext(bounded)
        assert not bounded.has_ended


async def test_a_long_answer_whose_reader_is_late_waits_and_comes_whole(client: aiohttp.ClientSession) -> None:
    body = bytes(range(256)) * 32_000

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, len(body), 1_000):
            await response.write(body[start : start + 1_000])
        return response

    async with RawTestServer(answer) as server:
        raw, _ = await answered_by(client, server)
        connection = raw._response.connection
        assert connection is not None
        assert connection.protocol is not None
        while not connection.protocol._reading_paused:
            await asyncio.sleep(0)
        assert b"".join([piece async for piece in raw]) == body


async def test_a_long_answer_in_very_many_pieces_waits_for_its_reader_and_comes_whole(
    client: aiohttp.ClientSession,
) -> None:
    """If there are too many pieces, aiohttp waits for its reader, and so does its parser."""
    came = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + b"1\r\nx\r\n" * (READ_BYTES // 16 + 1))  # the last of which is one too many
        await came.wait()
        writer.write(b"1\r\ny\r\n1\r\nz\r\n0\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port := free_port()):
        found = resolve("here", "openai_chat", RoutePlan("openai/m", f"http://127.0.0.1:{port}/v1", ""))
        raw = await open_raw(client, found, b"{}", {})
        connection = raw._response.connection
        assert connection is not None
        assert connection.protocol is not None
        while not connection.protocol._reading_paused:
            await asyncio.sleep(0)
        pieces = aiter(raw)
        first = await anext(pieces)
        came.set()
        assert first + b"".join([piece async for piece in pieces]) == b"x" * (READ_BYTES // 16 + 1) + b"yz"
        raw.close()


def test_clients_get_the_headers_that_are_for_them_and_no_other() -> None:
    kept = {"Retry-After": "7", "X-RateLimit-Remaining": "3", "Content-Type": "text/event-stream", "X-Request-Id": "r"}
    came = {"Content-Encoding": "gzip", "Content-Length": "7", "Transfer-Encoding": "chunked", "Connection": "close"}
    to_browsers = (
        *("Set-Cookie", "Location", "Refresh", "Link", "Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc"),
        *("Access-Control-Allow-Origin", "Report-To", "NEL", "Content-Security-Policy", "WWW-Authenticate"),
        *("X-Frame-Options", "Content-Disposition", "Service-Worker-Allowed", "SourceMap", "Content-Location"),
    )
    sent = came | kept | dict.fromkeys(to_browsers, "evil")
    assert passed_on(sent) == {name.lower(): value for name, value in kept.items()}


def test_a_header_that_clients_would_choke_on_goes_to_none() -> None:
    odd = {"x-request-id": "a\x0bb", "openai-version": "\x1b[31m", "content-type": "application/json\x00"}
    plain = {"cf-ray": "a\tb", "content-type": "application/json"}
    assert passed_on(odd | {"cf-ray": "a\tb"}) == plain


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "", "text/plain; charset=utf-8"])
def test_an_answer_is_an_event_stream_or_json_and_nothing_that_a_browser_would_run(kind: str) -> None:
    assert passed_on({"Content-Type": kind}) == {"content-type": "application/json"}


@pytest.mark.parametrize("kind", ["Text/Event-Stream; Charset=UTF-8", "APPLICATION/JSON"])
def test_the_case_of_a_content_type_does_not_matter(kind: str) -> None:
    assert passed_on({"CONTENT-TYPE": kind}) == {"content-type": kind}


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("more", ["; charset=utf-7", ";charset=utf-16", "; charset=utf-8; charset=utf-7", "; x=utf-8"])
def test_a_client_decodes_what_was_judged(kind: str, more: str) -> None:
    """Some clients decode an answer by the charset in its content type."""
    assert passed_on({"Content-Type": kind + more}) == {"content-type": kind}


async def test_a_refusal_without_end_is_not_read(client: aiohttp.ClientSession) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=400)
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"x" * 65536)
        return response

    with pytest.raises(UpstreamError) as raised:
        await refused_by(client, answer)
    assert (raised.value.status, raised.value.body) == (400, b"")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'[{"error": {"message": "out of beans"}}]', "out of beans"),
        (b'{"detail": "out of beans"}', "out of beans"),
        (b"out of beans", "out of beans"),
        (b"<html>out of beans</html>", "upstream answered 503"),
        (b"{}", "upstream answered 503"),
    ],
)
async def test_a_refusal_has_its_words_in_any_form(client: aiohttp.ClientSession, body: bytes, words: str) -> None:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=body, status=503)

    with pytest.raises(UpstreamError) as raised:
        await refused_by(client, answer)
    assert (raised.value.message, raised.value.body) == (words, body)


@pytest.mark.parametrize("head", [{"content-length": "99"}, {"content-encoding": "gzip"}], ids=["cut off", "not gzip"])
async def test_a_refusal_whose_body_cannot_be_read_keeps_its_status(
    client: aiohttp.ClientSession, head: dict[str, str]
) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=429, headers={**head, "retry-after": "7"})
        await response.prepare(request)
        await response.write(b"out of beans")
        response.force_close()
        return response

    with pytest.raises(UpstreamError) as raised:
        await refused_by(client, answer)
    assert (raised.value.status, raised.value.headers["retry-after"]) == (429, "7")


async def test_a_refusal_does_not_quote_the_credential(client: aiohttp.ClientSession) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        said = {"error": {"message": f"{request.headers['authorization']} is refused"}}
        return web.json_response(said, status=401)

    with pytest.raises(UpstreamError) as raised:
        await refused_by(client, answer)
    assert raised.value.message == "Bearer *** is refused"
    assert b"sk-precious" not in raised.value.body


async def test_a_refusal_does_not_quote_the_credential_with_escapes_or_in_a_header(
    client: aiohttp.ClientSession,
) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        key = request.headers["authorization"]
        said = json.dumps({"error": {"message": key}}).replace("-", "\\u002d")
        return web.Response(text=said, status=401, headers={"x-request-id": key})

    with pytest.raises(UpstreamError) as raised:
        await refused_by(client, answer)
    assert raised.value.message == "Bearer ***"
    assert json.loads(raised.value.body) == {"error": {"message": "Bearer ***"}}
    assert raised.value.headers["x-request-id"] == "Bearer ***"


@pytest.mark.parametrize("body", [b'{"error": "\\ud800 \\"a\\""}', b'{"a": "\\u', b"\xff\\"])
def test_a_refusal_that_does_not_quote_it_keeps_its_bytes(body: bytes) -> None:
    assert refusal_without("sk-precious", body) == body


async def refused_by(
    client: aiohttp.ClientSession, answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
) -> None:
    """Call a server with this handler, using a credential."""
    server = RawTestServer(answer)
    await server.start_server()
    try:
        plan = RoutePlan("openai/x", f"http://127.0.0.1:{server.port}", key="sk-precious")
        await open_raw(client, resolve("x", "openai_chat", plan), b"{}", {})
    finally:
        await server.close()


BROKEN = {
    "Bad status line": b"data: {}\n\n",
    "Too many headers received": b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 20_000 + b"\r\n",
    "Duplicate Content-Length": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
    "upstream answered 101, which was not asked for": b"HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    "upstream answered 999": b"HTTP/1.1 999 X\r\ncontent-length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("told", BROKEN)
async def test_broken_http_is_a_bad_gateway_in_one_line_without_the_address(
    client: aiohttp.ClientSession, told: str
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(BROKEN[told])
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port := free_port()):
        broken = simulator_target("sim/content", "openai_chat", f"http://127.0.0.1:{port}")
        with pytest.raises(UpstreamError) as raised:
            await open_raw(client, broken, b"{}", {})
    assert (raised.value.status, raised.value.message.endswith(told)) == (502, True)
    assert str(port) not in raised.value.message


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:9", "Connection refused"),
        ("https://127.0.0.1:{port}", "no connection by TLS"),
    ],
)
async def test_who_cannot_be_reached_is_told_without_the_address(
    client: aiohttp.ClientSession, simulator: Simulator, url: str, why: str
) -> None:
    plan = RoutePlan("openai/x", url.format(port=simulator.port), key="sk-precious")
    with pytest.raises(UpstreamError) as raised:
        await open_raw(client, resolve("x", "openai_chat", plan), b"{}", {})
    assert raised.value.message == f"openai could not be reached: {why}"


@pytest.fixture
def stranger(tmp_path: Path) -> ssl.SSLContext:
    """A server's TLS context with an untrusted certificate."""
    if not shutil.which("openssl"):
        missing("openssl")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x"]
    subprocess.run(["openssl", "req", *kind, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.mark.integration
async def test_a_certificate_that_is_not_trusted_is_told(
    client: aiohttp.ClientSession, stranger: ssl.SSLContext
) -> None:
    async with await asyncio.start_server(lambda _, to: to.close(), "127.0.0.1", port := free_port(), ssl=stranger):
        plan = RoutePlan("openai/x", f"https://127.0.0.1:{port}", key="sk-precious")
        with pytest.raises(UpstreamError) as raised:
            await open_raw(client, resolve("x", "openai_chat", plan), b"{}", {})
    why = "its certificate is not trusted (self-signed certificate)"
    assert raised.value.message == f"openai could not be reached: {why}"
