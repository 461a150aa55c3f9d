"""What clients make of a base URL: paths with the version, without it, with it twice; targets that name the server."""

import gzip
import http.client
import json
import socket
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from streamviz.proxy.unpacking import zstd
from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Streamviz


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Proxied]:
    with Proxied(shared_server) as found:
        yield found


def ask(proxied: Proxied, target: str, method: str = "POST", **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", proxied.http.base_url.port or 80, timeout=120)
    body = {"model": "sim/content?speed=inf", "messages": MESSAGES, "input": "Hello", "max_tokens": 900}
    sent = {"authorization": f"Bearer {proxied.server.api_key}", "content-type": "application/json", **headers}
    connection.request(method, target, json.dumps(body) if method == "POST" else None, sent)
    response = connection.getresponse()
    found = response.status, json.loads(response.read() or b"null")
    connection.close()
    return found


@pytest.mark.parametrize("path", ["/chat/completions", "/messages", "/responses"])
@pytest.mark.parametrize("before", ["", "/v1", "/v1/v1", "/v1/", "http://elsewhere/v1", "HTTP://elsewhere:1"])
def test_a_call_is_found_whatever_the_base_url_has(proxied: Proxied, before: str, path: str) -> None:
    status, answer = ask(proxied, before + path)
    assert (status, "error" in answer and bool(answer["error"])) == (200, False)


@pytest.mark.parametrize(
    ("path", "headers", "error"),
    [
        ("/v1/none", {}, {"type": "not_found_error", "code": "unknown_url"}),
        ("/v1/none", {"anthropic-version": "2023-06-01"}, {"type": "not_found_error"}),
        ("/v1/none", {"x-goog-api-client": "gl-python/3"}, {"code": 404, "status": "NOT_FOUND"}),
        ("/v1beta/none", {}, {"code": 404, "status": "NOT_FOUND"}),
        ("/v1beta/models/x:embed", {}, {"code": 404, "status": "NOT_FOUND"}),
        ("/v1/messages/none", {}, {"type": "not_found_error"}),
        ("/api/chat", {}, {"type": "not_found_error", "code": "unknown_url"}),
        ("/api/chat", {"anthropic-version": "2023-06-01"}, {"type": "not_found_error"}),
        ("/openai/v1/chat/completions", {"authorization": ""}, {"type": "not_found_error", "code": "unknown_url"}),
        ("/anthropic/v1/messages", {"authorization": "sv-without-bearer"}, {"type": "not_found_error"}),
        ("/v1/chat/completions/chat/completions", {}, {"type": "not_found_error", "code": "unknown_url"}),
        ("/", {}, {"type": "not_found_error", "code": "unknown_url"}),
        ("/", {"authorization": ""}, {"type": "not_found_error", "code": "unknown_url"}),
        ("/", {"authorization": "", "anthropic-version": "2023-06-01"}, {"type": "not_found_error"}),
    ],
)
def test_an_error_is_told_in_the_clients_format(
    proxied: Proxied, path: str, headers: dict[str, str], error: dict[str, Any]
) -> None:
    status, answer = ask(proxied, path, **headers)
    assert status == 404
    assert {name: answer["error"].get(name) for name in error} == error


@pytest.mark.parametrize("path", ["/openai/v1/models", "/anthropic/v1/models", "/openai/models", "/v1"])
@pytest.mark.parametrize("key", [{}, {"authorization": ""}], ids=["key", "no key"])
def test_who_lists_models_at_another_base_url_is_told_so(proxied: Proxied, path: str, key: dict[str, str]) -> None:
    status, answer = ask(proxied, path, "GET", **key)
    assert (status, answer["error"]["code"]) == (404, "unknown_url")


@pytest.mark.parametrize("header", ["api-key", "x-api-key", "x-goog-api-key"])
def test_a_key_may_come_in_any_vendors_header(proxied: Proxied, header: str) -> None:
    own = {"authorization": "", header: proxied.server.api_key}
    assert ask(proxied, "/v1/models", "GET", **own)[0] == 200


def raw(
    proxied: Proxied, method: str, target: str, body: bytes | None = None, **headers: str
) -> tuple[int, Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", proxied.http.base_url.port or 80, timeout=120)
    connection.request(method, target, body, {"authorization": f"Bearer {proxied.server.api_key}", **headers})
    response = connection.getresponse()
    found = response.status, response.headers, response.read()
    connection.close()
    return found


CALL = json.dumps({"model": "sim/content?speed=inf", "messages": MESSAGES}).encode()


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "GZIP", "zstd"])
def test_a_request_may_be_compressed(proxied: Proxied, encoding: str) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {"deflate": zlib.compress, "zstd": zstd.compress}
    pack = packers.get(encoding, gzip.compress)
    packed = pack(CALL) if encoding == "deflate" else pack(CALL[:20]) + pack(CALL[20:])
    assert raw(proxied, "POST", "/v1/chat/completions", packed, **{"content-encoding": encoding})[0] == 200


def wide(data: bytes) -> bytes:
    """Compressed in such a way that decompressing it takes 128 MiB."""
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("body", "encoding", "status", "code"),
    [
        (CALL, "br", 415, "unsupported_encoding"),
        (CALL, "gzip", 400, "invalid_encoding"),
        (gzip.compress(CALL)[:-9], "gzip", 400, "invalid_encoding"),
        (gzip.compress(bytes(64 << 20)), "gzip", 413, "too_large"),
        (CALL, "zstd", 400, "invalid_encoding"),
        (zstd.compress(CALL)[:-9], "zstd", 400, "invalid_encoding"),
        (zstd.compress(bytes(64 << 20)), "zstd", 413, "too_large"),
        (wide(CALL), "zstd", 400, "invalid_encoding"),
    ],
    ids=["another", "none", "cut", "bomb", "no zstd", "cut zstd", "zstd bomb", "zstd that takes much memory"],
)
def test_what_is_compressed_wrongly_is_refused(
    proxied: Proxied, body: bytes, encoding: str, status: int, code: str
) -> None:
    found, _, answer = raw(proxied, "POST", "/v1/chat/completions", body, **{"content-encoding": encoding})
    assert (found, json.loads(answer)["error"]["code"]) == (status, code)


def test_a_head_is_that_of_the_answer(proxied: Proxied) -> None:
    status, headers, body = raw(proxied, "HEAD", "/v1/models")
    assert (status, headers["content-type"], body) == (200, "application/json", b"")


def test_an_answer_names_its_stream(proxied: Proxied) -> None:
    _, headers, _ = raw(proxied, "POST", "/v1/chat/completions", CALL)
    found = headers["x-streamviz-stream"]
    until(lambda: proxied.query("SELECT 1 FROM records_stream WHERE id = %s", found))


@pytest.mark.parametrize("body", [None, CALL], ids=["GET", "POST"])
@pytest.mark.parametrize("key", ["", "Bearer none"])
def test_a_refusal_is_found_in_the_log(proxied: Proxied, key: str, body: bytes | None) -> None:
    method, path = ("GET", "/v1/models") if body is None else ("POST", "/v1/messages")
    _, headers, _ = raw(proxied, method, path, body, authorization=key)
    assert headers["x-request-id"] == headers["request-id"]
    until(lambda: headers["x-request-id"] in proxied.server.output())


def test_a_page_has_what_was_refused_before_its_body_was_read(proxied: Proxied) -> None:
    assert raw(proxied, "POST", "/v1/messages", bytes(50_000), authorization="", **{"user-agent": "unread/1"})[0] == 401
    proxied.sign_in()
    page = proxied.http.get("/errors/refused/").text
    assert "127.0.0.1" in page.partition("unread/1")[2].partition("</td>")[0]


def test_a_refusal_has_no_model_of_the_request_before_it(proxied: Proxied) -> None:
    key = f"authorization: Bearer {proxied.server.api_key}\r\nhost: here\r\nuser-agent: pipelining/1\r\n"
    call = f"POST /v1/chat/completions HTTP/1.1\r\n{key}content-length: {len(CALL)}\r\n\r\n".encode() + CALL
    with socket.create_connection(("127.0.0.1", proxied.http.base_url.port or 80), timeout=120) as connection:
        connection.sendall(call + f"GET /v1beta/nothing HTTP/1.1\r\n{key}connection: close\r\n\r\n".encode())
        assert b" 404 " in b"".join(iter(lambda: connection.recv(65_536), b""))
    proxied.sign_in()
    page = proxied.http.get("/errors/refused/").text
    [row] = [row for row in page.split("<tr>") if "pipelining/1" in row]
    assert "/v1beta/nothing" in row
    assert "sim/content" not in row


def test_what_a_client_says_beside_its_request_reaches_the_provider(proxied: Proxied) -> None:
    passed = {"openai-organization": "org", "openai-project": "p", "idempotency-key": "i", "traceparent": "00-1-2-01",
              "user-agent": "agent/1", "x-stainless-lang": "python", "openai-beta": "b=1"}  # fmt: skip
    kept = {"cookie": "a=b", "x-forwarded-for": "1.2.3.4", "x-session-id": "s", "x-streamviz-other": "o",
            "connection": "x-hop", "x-hop": "h", "origin": "https://page.example"}  # fmt: skip
    _, headers, _ = raw(proxied, "POST", "/v1/chat/completions", CALL, **passed, **kept)
    [asked] = proxied.requests_upstream(headers)
    sent = {name.lower() for name in asked["headers"]}
    assert passed.keys() <= sent
    assert not sent & (kept.keys() - {"connection"})


@pytest.mark.parametrize(("target", "status"), [("/static/css/base.css", 200), ("/sessions", 301), ("/sessions/", 302)])
def test_a_bearer_token_of_a_proxys_keeps_nobody_from_pages(proxied: Proxied, target: str, status: int) -> None:
    found, _, _ = raw(proxied, "GET", target, authorization="Bearer of-the-proxy")
    assert found == status


def test_only_pages_of_named_sites_may_call(proxied: Proxied) -> None:
    site = proxied.server.environment["CORS_ORIGINS"]
    asked = {"origin": site, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    status, headers, _ = raw(proxied, "OPTIONS", "/v1/messages", **asked)
    told = headers["access-control-allow-origin"], headers["access-control-allow-headers"]
    assert (status, *told) == (204, site, "x-api-key")
    for target, status in (("/v1/models", 200), ("/v1/none", 404)):
        found, headers, _ = raw(proxied, "GET", target, origin=site)
        assert (found, headers["access-control-allow-origin"]) == (status, site)
        _, headers, _ = raw(proxied, "GET", target, origin="https://other.example")
        assert "access-control-allow-origin" not in headers
    _, headers, _ = raw(proxied, "POST", "/v1/messages", CALL, origin=site, authorization="Bearer none")
    assert headers["access-control-allow-origin"] == site
