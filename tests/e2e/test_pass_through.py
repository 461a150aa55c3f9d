"""Requests that are passed through unread: where they go and do not go, and what is recorded."""

import http.client
import json
import socket
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.proxied import Proxied, until
from tests.e2e.test_client_credentials import kept_of
from tests.services import Streamviz

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, %s)"
RECORD = (
    "SELECT stream.id, endpoint, wire_format, outcome, status, request"
    " FROM records_stream AS stream JOIN records_session AS session ON session.id = session_id"
    " WHERE name = %s AND outcome <> ''"
)
FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nsecret words\r\n--x--\r\n'
CREDENTIAL = "sk-simulated"


class Upstream(BaseHTTPRequestHandler):
    """A provider that accepts anything, and stores the requests."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, str, dict[str, str], bytes]] = []

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked.append((self.command, self.path, headers, body))
        status, kind, answer = 200, "application/octet-stream", bytes(range(256)) * 40
        if self.path.endswith("/elsewhere"):
            status = 302
        elif self.path.endswith("/refused"):
            status, kind, answer = 401, "application/json", b'{"error":{"message":"not %s"}}' % CREDENTIAL.encode()
        elif self.path.endswith("/broken"):
            self.wfile.write(b"quotes %s\r\n\r\n" % CREDENTIAL.encode())
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(status)
        asked = headers["authorization"] if status == 401 else headers.get("x-request-id", "r")
        told = {"content-type": kind, "content-length": len(answer), "x-request-id": asked, "set-cookie": "a"}
        for name, value in {**told, "location": "http://elsewhere.example/"}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_POST = do_DELETE = do_HEAD = _answer  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz, upstream: int) -> Iterator[Proxied]:
    with Proxied(shared_server) as found:
        found.query(ROUTE, "files", "openai/any", f"http://127.0.0.1:{upstream}/v1", "SIMULATED_KEY")
        found.query(ROUTE, "batches", "anthropic/any", f"http://127.0.0.1:{upstream}", "SIMULATED_KEY")
        until(lambda: ask(found, "GET", "/v1/files")[0] == 200)
        found.sign_in()
        yield found


def ask(
    proxied: Proxied, method: str, target: str, body: bytes | None = None, **headers: str
) -> tuple[int, Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", proxied.http.base_url.port or 80, timeout=120)
    sent = {"authorization": f"Bearer {proxied.server.api_key}", "x-streamviz-provider": "files", **headers}
    connection.request(method, target, body, {name: value for name, value in sent.items() if value})
    response = connection.getresponse()
    found = response.status, response.headers, response.read()
    connection.close()
    return found


def test_a_file_goes_through_as_it_is_and_is_recorded_by_its_size(proxied: Proxied) -> None:
    session, kind = uuid.uuid4().hex, "multipart/form-data; boundary=x"
    status, headers, body = ask(
        proxied, "POST", "/v1/files?purpose=a%20b", FORM, **{"content-type": kind, "x-session-id": session}
    )
    assert (status, body) == (200, bytes(range(256)) * 40)
    assert headers["content-type"] == "application/octet-stream"
    assert "sandbox" in headers["content-security-policy"]
    assert headers["set-cookie"] is None
    method, path, sent, got = Upstream.asked[-1]
    assert (method, path, got, sent["content-type"]) == ("POST", "/v1/files?purpose=a+b", FORM, kind)
    assert sent["authorization"] == f"Bearer {CREDENTIAL}"
    assert proxied.server.api_key not in str(sent)
    [(id, *known, request)] = until(lambda: proxied.query(RECORD, session))
    assert str(id) == headers["x-streamviz-stream"]
    assert known == ["/v1/files", "passed_through", "completed", 200]
    asked = {"method": "POST", "path": "/v1/files", "type": "multipart/form-data", "bytes": len(FORM)}
    assert json.loads(bytes(request)) == asked
    assert kept_of(proxied, "secret words") == []
    assert proxied.http.get(f"/streams/{id}/").status_code == 200
    assert proxied.http.get("/").status_code == 200


def test_words_beyond_ascii_go_through_both_ways(proxied: Proxied) -> None:
    """Python's client and this provider treat a header's bytes as Latin-1 characters."""
    as_bytes = "Zürich, Åsa, 公司".encode().decode("latin-1")
    own = {"x-name": as_bytes, "x-request-id": as_bytes, "user-agent": "caf\xe9", "x-session-id": as_bytes}
    status, headers, _ = ask(proxied, "GET", "/v1/files?name=Z%C3%BCrich&bytes=%ff%00", **own)
    assert (status, headers["x-request-id"]) == (200, as_bytes)
    _, path, sent, _ = Upstream.asked[-1]
    assert path == "/v1/files?name=Z%C3%BCrich&bytes=%FF%00"
    assert sent["x-name"] == as_bytes
    asked = "SELECT user_agent, name FROM records_stream s JOIN records_session n ON n.id = session_id WHERE s.id = %s"
    [kept] = until(lambda: proxied.query(asked, headers["x-streamviz-stream"]))
    assert kept == ("café", "Zürich, Åsa, 公司")


@pytest.mark.parametrize("control", ["\x1b", "\x7f", "\x01", "\x0b", "\x1d"])
def test_a_header_with_a_control_character_is_refused_in_words(proxied: Proxied, control: str) -> None:
    for method, target in (("GET", "/v1/files"), ("POST", "/v1/messages"), ("GET", "/v1/models")):
        status, _, body = ask(proxied, method, target, b"{}", **{"x-name": f"a{control}b"})
        assert (status, json.loads(body)["error"]["message"]) == (400, "The header x-name has a control character.")


@pytest.mark.parametrize("before", ["/v1", "", "/v1/v1"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD"])
def test_every_method_goes_through(proxied: Proxied, method: str, before: str) -> None:
    """Whatever part of the version the base URL contains."""
    assert ask(proxied, method, f"{before}/files/file-1/content")[0] == 200
    assert Upstream.asked[-1][:2] == (method, "/v1/files/file-1/content")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/models/ft:gpt-4o:me::a1"),
        ("POST", "/models/an-embedder:batchEmbedContents"),
        ("GET", "/embeddings/models"),
    ],
)
def test_what_is_done_with_a_providers_model_goes_through(proxied: Proxied, method: str, path: str) -> None:
    status, _, _ = ask(proxied, method, f"/v1{path}", **{"x-streamviz-provider": "files"})
    assert (status, Upstream.asked[-1][:2]) == (200, (method, f"/v1{path}"))


def test_the_model_in_the_body_names_the_provider(proxied: Proxied) -> None:
    """The model gets its provider's name for it, as in other calls; the rest of the body keeps its bytes."""
    body = b'{"model": "files", "seed": 12345678901234567890, "x": 1.0}'
    own = {"x-streamviz-provider": "", "content-type": "application/json"}
    assert ask(proxied, "POST", "/v1/images/generations", body, **own)[0] == 200
    assert Upstream.asked[-1][3] == b'{"model":"any","seed":12345678901234567890,"x":1.0}'


def test_a_form_may_name_the_model(proxied: Proxied) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nfiles\r\n--x--\r\n'
    own = {"x-streamviz-provider": "", "content-type": "multipart/form-data; boundary=x"}
    assert ask(proxied, "POST", "/v1/audio/transcriptions", form, **own)[0] == 200
    assert Upstream.asked[-1][3] == form.replace(b"files", b"any")


def test_what_names_no_provider_goes_to_the_keys(proxied: Proxied) -> None:
    proxied.query("UPDATE records_apikey SET default_provider = 'files'")
    unnamed, as_json = {"x-streamviz-provider": ""}, {"content-type": "application/json"}
    try:
        until(lambda: ask(proxied, "GET", "/v1/files", **unnamed)[0] == 200)
        unknown = json.dumps({"model": "nobody-knows-this"}).encode()
        assert ask(proxied, "POST", "/v1/moderations", unknown, **unnamed, **as_json)[0] == 200
        assert Upstream.asked[-1][3] == unknown
        assert ask(proxied, "GET", "/v1/files", **{"x-streamviz-provider": "nobody"})[0] == 404
    finally:
        proxied.query("UPDATE records_apikey SET default_provider = ''")
    until(lambda: ask(proxied, "GET", "/v1/files", **unnamed)[0] == 404)


def test_another_vendors_provider_has_its_own_paths_and_credential(proxied: Proxied) -> None:
    own = {"x-streamviz-provider": "batches", "anthropic-version": "2023-06-01"}
    assert ask(proxied, "GET", "/v1/messages/batches", **own)[0] == 200
    _, path, sent, _ = Upstream.asked[-1]
    assert (path, sent["x-api-key"]) == ("/v1/messages/batches", CREDENTIAL)


@pytest.mark.parametrize(
    "target",
    ["/v1/../admin", "/v1/files//../x", "/v1/files/%2e%2e/x", "/v1/files/..", "/v1/files/a%2fb", "/v1/.env", "/v1/a%00",
     "/v1/files;x", "/v1/a\\b"],
)  # fmt: skip
def test_a_path_is_words_and_nothing_else(proxied: Proxied, target: str) -> None:
    count = len(Upstream.asked)
    assert ask(proxied, "GET", target)[0] == 404
    assert len(Upstream.asked) == count


@pytest.mark.parametrize(
    ("provider", "status", "code"),
    [("", 404, "unknown_url"), ("nobody", 404, "unknown_provider"), ("http://x", 404, "unknown_provider"),
     ("gemini", 400, "provider_not_passed_to"), ("openai", 401, "no_credential")],
)  # fmt: skip
def test_only_a_known_provider_is_called(proxied: Proxied, provider: str, status: int, code: str) -> None:
    found, _, body = ask(proxied, "GET", "/v1/files", **{"x-streamviz-provider": provider})
    assert (found, json.loads(body)["error"]["code"]) == (status, code)


def test_a_redirect_is_not_followed(proxied: Proxied) -> None:
    status, headers, _ = ask(proxied, "GET", "/v1/files/elsewhere")
    assert (status, headers["location"]) == (502, None)


def test_a_refusal_is_the_providers_without_its_credential(proxied: Proxied) -> None:
    status, headers, body = ask(proxied, "GET", "/v1/files/refused")
    assert (status, json.loads(body)) == (401, {"error": {"message": "not ***"}})
    assert headers["x-request-id"] == "Bearer ***"
    assert headers["cache-control"] == "no-store"


def test_an_answer_in_broken_http_tells_neither_the_credential_nor_the_address(proxied: Proxied) -> None:
    status, _, body = ask(proxied, "GET", "/v1/files/broken")
    assert (status, json.loads(body)["error"]["message"]) == (502, "openai answered in broken HTTP: Bad status line")


def test_nothing_passes_unread_where_a_policy_is_enforced(proxied: Proxied) -> None:
    proxied.switch("secret-leak", "enforce")
    try:
        status, _, body = ask(proxied, "GET", "/v1/files")
        assert (status, json.loads(body)["error"]["code"]) == (403, "denied_by_policy")
    finally:
        proxied.switch("secret-leak", "off")
    assert ask(proxied, "GET", "/v1/files")[0] == 200


def test_a_key_for_some_models_passes_nothing_through(proxied: Proxied) -> None:
    proxied.query("UPDATE records_apikey SET models_scope = 'files'")
    try:
        until(lambda: ask(proxied, "GET", "/v1/files")[0] == 403)
    finally:
        proxied.query("UPDATE records_apikey SET models_scope = ''")
    until(lambda: ask(proxied, "GET", "/v1/files")[0] == 200)
