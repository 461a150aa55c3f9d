"""Session limits hold for simultaneous calls, on any server; keys are for the models that they name."""

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from streamviz.records.models.access import digest
from tests.e2e.proxied import MESSAGES, until
from tests.e2e.test_policies import Guarded
from tests.services import Serving, Streamviz

pytestmark = pytest.mark.slow

AT_ONCE = 50
# One server alone, and two that share a port.
WORKERS = 3
IN_FORCE = "SELECT id FROM records_worker WHERE policies ? %s"
ASKED = """
SELECT count(DISTINCT worker) FROM records_stream JOIN records_session AS session ON session.id = session_id
WHERE session.name = %s
"""
STORED = """
SELECT count(*) FROM records_stream JOIN records_session AS session ON session.id = session_id
WHERE session.name = %s AND requested_model LIKE %s AND outcome <> ''
"""
TOKENS, DOLLARS = 900, 900 * 0.6 / 1_000_000  # of one answer, at gpt-4o-mini's price
ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES ('priced', 'openai/gpt-4o-mini', %s, '')"
PRICED = (
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\n\ndata: [DONE]\n\n' % TOKENS
)
OVER = "SELECT id FROM records_stream WHERE id = ANY(%s::uuid[]) AND outcome <> ''"
# Requests that were denied do not count.
OF_KEY = """
SELECT count(*) FROM records_stream WHERE outcome <> '' AND (outcome <> 'halted' OR chunk_count > 0)
    AND key_id = (SELECT key_id FROM records_stream WHERE id = %s)
"""


@pytest.fixture(scope="module")
def server(serving: Serving) -> Iterator[Guarded]:
    with serving() as running, Guarded(running) as found:
        yield found


@pytest.fixture(scope="module")
def both(server: Guarded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The addresses of two machines with one database."""
    settings = {"DATABASE_URL": server.server.environment["DATABASE_URL"], "WORKERS": str(WORKERS - 1)}
    other = Streamviz(Path(tmp_path_factory.mktemp("var")), settings)
    try:
        yield [server.server.base_url, other.start().base_url]
    finally:
        other.stop()


@pytest.fixture
def guarded(server: Guarded) -> Iterator[Guarded]:
    yield server
    server.remove()


class Priced(BaseHTTPRequestHandler):
    """A provider that bills for as many tokens as were requested."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(PRICED)))
        self.end_headers()
        self.wfile.write(PRICED)


@pytest.fixture(scope="module")
def priced(server: Guarded) -> Iterator[str]:
    """A model that has a price."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Priced) as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        server.query(ROUTE, f"http://127.0.0.1:{provider.server_port}/v1")
        yield "priced"
        provider.shutdown()


def status(guarded: Guarded, base_url: str, session: str, model: str = "sim/content?chunks=20&speed=20") -> int:
    body = {"model": model, "messages": MESSAGES, "stream": True}
    body |= {"max_tokens": TOKENS} if model == "priced" else {}
    # A connection that is kept leads to the worker that it led to before.
    headers = {"authorization": f"Bearer {guarded.server.api_key}", "x-session-id": session, "connection": "close"}
    return guarded.http.post(f"{base_url}/v1/chat/completions", json=body, headers=headers).status_code


def wait_until_all_have(guarded: Guarded, policy: str) -> None:
    until(lambda: len(guarded.query(IN_FORCE, policy)) == WORKERS)


@pytest.mark.parametrize(
    ("limits", "most", "model"),
    [
        ({"streams": 3}, 3, "sim/content?chunks=20&speed=20"),
        ({"output_tokens": 10}, 1, "sim/content?chunks=20&speed=20"),
        ({"output_tokens": 3.5 * TOKENS}, 4, "priced"),
        ({"cost": 3.5 * DOLLARS}, 4, "priced"),
    ],
)
def test_fifty_calls_at_once_over_three_servers_stay_within_a_sessions_limits(
    guarded: Guarded, both: list[str], priced: str, limits: dict[str, float], most: int, model: str
) -> None:
    wait_until_all_have(guarded, guarded.add("limits", {"session": limits}))
    until(lambda: {status(guarded, base_url, uuid.uuid4().hex, priced) for base_url in both} == {200})
    session = uuid.uuid4().hex
    with ThreadPoolExecutor(AT_ONCE) as clients:
        codes = list(clients.map(lambda n: status(guarded, both[n % 2], session, model), range(AT_ONCE)))
    assert set(codes) == {200, 403}
    assert codes.count(200) <= most
    until(lambda: not guarded.query("SELECT stream_id FROM records_use"))

    def every_worker_was_asked() -> bool:
        # The system shares connections among workers as it likes, so one may have had none of the fifty.
        assert {status(guarded, base_url, session, model) for base_url in both} == {403}
        return bool(guarded.query(ASKED, session) == [(WORKERS,)])

    until(every_worker_was_asked)


def test_what_was_called_while_a_limit_was_off_counts_of_the_models_that_it_is_for(
    guarded: Guarded, both: list[str]
) -> None:
    limited, free, session = "sim/content?speed=inf", "sim/tools?speed=inf", uuid.uuid4().hex
    for models in ([limited, free], [limited]):
        wait_until_all_have(guarded, guarded.add("limits", {"session": {"streams": 5}}, models_scope="sim/content*"))
        assert [status(guarded, base_url, session, models[0]) for base_url in both] == [200, 200]
        guarded.remove()
        until(lambda: {status(guarded, base_url, session, free) for base_url in both} == {200})
        assert [status(guarded, both[0], session, model) for model in models] == [200] * len(models)
    until(lambda: guarded.query(STORED, session, "sim/content%") == [(6,)])
    wait_until_all_have(guarded, guarded.add("limits", {"session": {"streams": 8}}, models_scope="sim/content*"))
    with ThreadPoolExecutor(AT_ONCE) as clients:
        codes = list(clients.map(lambda n: status(guarded, both[n % 2], session), range(AT_ONCE)))
    assert (codes.count(200), codes.count(403)) == (2, AT_ONCE - 2)


def test_what_a_policy_sends_to_a_route_counts_for_a_limit_of_that_route(guarded: Guarded, both: list[str]) -> None:
    route, url = "INSERT INTO records_route VALUES (DEFAULT, %s, %s, %s, '')", f"{guarded.simulator.url}/v1"
    for name in ("dear", "cheap"):
        guarded.query(route, name, "openai/content?speed=inf", url)
    guarded.add("request_rule", {"set": {"model": "cheap"}}, models_scope="dear")
    name = guarded.add("limits", {"session": {"streams": 3}}, models_scope="cheap")
    wait_until_all_have(guarded, name)
    until(lambda: status(guarded, both[0], uuid.uuid4().hex, "dear") == 200)
    session = uuid.uuid4().hex
    assert [status(guarded, both[n % 2], session, "dear") for n in range(3)] == [200] * 3
    until(lambda: guarded.query(STORED, session, "dear") == [(3,)])
    assert [status(guarded, base_url, session, model) for base_url in both for model in ("dear", "cheap")] == [403] * 4


def test_after_a_restart_the_counts_are_those_of_before(guarded: Guarded) -> None:
    guarded.add("limits", {"session": {"streams": 2}})
    session = uuid.uuid4().hex
    assert [status(guarded, guarded.server.base_url, session) for _ in range(3)] == [200, 200, 403]
    guarded.server.restart()
    until(lambda: status(guarded, guarded.server.base_url, uuid.uuid4().hex) == 200)
    assert status(guarded, guarded.server.base_url, session) == 403


def test_a_key_is_for_the_models_that_it_names(guarded: Guarded) -> None:
    secret, route = f"sv-{uuid.uuid4().hex}", "INSERT INTO records_route VALUES (DEFAULT, %s, %s, %s, '')"
    url = f"{guarded.simulator.url}/v1"
    guarded.query(route, "fast", "openai/content?speed=inf", url)
    guarded.query(route, "slow", "openai/tools?speed=inf", url)
    made = (
        "INSERT INTO records_apikey (name, prefix, digest, created_at, models_scope)"
        " VALUES ('limited', 'sv', %s, now(), 'fast, OpenAI/other*')"
    )
    guarded.query(made, digest(secret))

    def ask(model: str, path: str = "/v1/chat/completions") -> int:
        body = {"model": model, "messages": MESSAGES, "max_tokens": 900}
        return guarded.http.post(path, json=body, headers={"authorization": f"Bearer {secret}"}).status_code

    until(lambda: ask("fast") == 200)
    for path in ("/v1/chat/completions", "/v1/messages/count_tokens"):
        assert [ask(model, path) for model in ("fast", "slow", "sim/content?speed=inf")] == [200, 403, 403]
    headers = {"authorization": f"Bearer {secret}"}
    listed = guarded.http.get("/v1/models", headers=headers).json()["data"]
    assert [each["id"] for each in listed] == ["fast"]
    for own, member in (({"anthropic-version": "2023-06-01"}, "data"), ({"x-goog-api-client": "genai"}, "models")):
        assert len(guarded.http.get("/v1/models", headers={**headers, **own}).json()[member]) == 1
    assert guarded.http.get("/v1/models/slow", headers=headers).status_code == 404
    guarded.add("request_rule", {"set": {"model": "slow"}}, models_scope="fast")
    assert ask("fast") == 403


def test_a_keys_limit_is_for_all_its_calls_read_or_not(guarded: Guarded, both: list[str]) -> None:
    route = "INSERT INTO records_route (name, target, base_url, credential) VALUES ('files', 'openai/any', %s, 'PATH')"
    guarded.query(route, f"{guarded.simulator.url}/v1")
    headers = {"authorization": f"Bearer {guarded.server.api_key}", "x-streamviz-provider": "files"}

    def files(base_url: str) -> httpx.Response:
        return guarded.http.get(f"{base_url}/v1/files", headers=headers)

    def pass_through(base_url: str) -> int:
        return files(base_url).status_code

    def known() -> int:
        """How many streams of the key count, once all current ones are on record."""
        last = [files(each).headers["x-streamviz-stream"] for each in both]
        until(lambda: len(guarded.query(OVER, last)) == len(both))
        [(number,)] = guarded.query(OF_KEY, last[0])
        return int(number)

    # The simulator has no files endpoint; requests reach it once the route is known.
    until(lambda: all("x-streamviz-stream" in files(base_url).headers for base_url in both))
    name = guarded.add("limits", {"key": {"streams": known() + 10}, "key_period": "month"})
    wait_until_all_have(guarded, name)
    ask = [pass_through, lambda base_url: status(guarded, base_url, uuid.uuid4().hex)]
    codes = [ask[n // 2 % 2](both[n % 2]) for n in range(16)]
    allowed = codes[: codes.index(403)]
    assert set(allowed) == {200, 404}
    # Earlier streams count toward the limit, too.
    assert len(allowed) <= 10
    assert set(codes[len(allowed) :]) == {403}
    guarded.remove()
    until(lambda: [pass_through(base_url) for base_url in both] == [404, 404])
