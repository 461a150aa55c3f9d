"""Clients that bring their provider's own credential: it is passed on, and stored nowhere."""

import hashlib
import json
import uuid
from collections.abc import Iterator

import pytest

from tests.e2e.proxied import MESSAGES, Proxied, files_with, until
from tests.services import Serving
from tests.simulator.process import PATHS

pytestmark = pytest.mark.slow

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, '')"
TABLES = (
    "SELECT quote_ident(relname) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
)
# The header in which a format's clients send their credential.
HEADERS = {"openai_chat": "authorization", "anthropic_messages": "x-api-key", "openai_responses": "authorization"}


@pytest.fixture(scope="module")
def proxied(serving: Serving) -> Iterator[Proxied]:
    with serving(CLIENT_CREDENTIALS="1", LOG_LEVEL="DEBUG") as server, Proxied(server) as found:
        for scenario in ("content", "error-401", "error-midstream"):
            found.query(ROUTE, f"raw-{scenario}", f"openai/{scenario}?speed=inf", f"{found.simulator.url}/v1")
            found.query(ROUTE, f"other-{scenario}", f"anthropic/{scenario}?speed=inf", found.simulator.url)
        yield found


def ask(proxied: Proxied, spoken: str, model: str, credential: str, session: str, *, stream: bool = True) -> int:
    said = {"input": "Hello"} if spoken == "openai_responses" else {"messages": MESSAGES, "max_tokens": 900}
    value = credential if HEADERS[spoken] == "x-api-key" else f"Bearer {credential}"
    headers = {HEADERS[spoken]: value, "x-streamviz-key": proxied.server.api_key, "x-session-id": session}
    response = proxied.http.post(PATHS[spoken], json={"model": model, "stream": stream, **said}, headers=headers)
    assert credential not in response.text
    return response.status_code


def kept_of(proxied: Proxied, text: str) -> list[str]:
    """Where a text is stored: tables, files in the server's folder, the log; except the file that hands out the key."""
    found = []
    for (table,) in proxied.query(TABLES):
        forms = (text, text.encode().hex())
        row = f"SELECT count(*) FROM {table} AS row WHERE " + " OR ".join(["row::text LIKE %s"] * len(forms))
        [(count,)] = proxied.query(row, *(f"%{form}%" for form in forms))
        found += [table] if count else []
    found += [path for path in files_with(proxied.server.var_dir, text) if not path.endswith("/first_key")]
    return found + (["log"] if text in proxied.server.output() else [])


@pytest.mark.parametrize(
    ("spoken", "token", "beside"),
    [
        ("anthropic_messages", "sk-ant-oat01-1", {"anthropic-beta": "oauth-2025-04-20,claude-code-20250219"}),
        (
            "openai_responses",
            "eyJhbGciOiJSUzI1NiJ9.e30.c2ln",
            {"chatgpt-account-id": "a-1", "originator": "codex_exec"},
        ),
    ],
    ids=["Claude Code", "Codex"],
)
def test_the_token_of_an_account_goes_on_as_it_came(
    proxied: Proxied, spoken: str, token: str, beside: dict[str, str]
) -> None:
    headers = {"authorization": f"Bearer {token}", "x-streamviz-key": proxied.server.api_key, **beside}
    said = {"input": "Hello"} if spoken == "openai_responses" else {"messages": MESSAGES, "max_tokens": 9}
    answer = proxied.http.post(PATHS[spoken], json={"model": "sim/content?speed=inf", **said}, headers=headers)
    [asked] = proxied.requests_upstream(answer.headers)
    sent = {name.lower(): value for name, value in asked["headers"].items()}
    assert sent["authorization"].endswith(hashlib.sha256(token.encode()).hexdigest())
    assert "x-api-key" not in sent
    assert {name: sent[name] for name in beside} == beside


@pytest.mark.parametrize("spoken", PATHS)
@pytest.mark.parametrize("model", ["sim/content?speed=inf", "raw-content", "other-content"])
def test_the_credential_goes_upstream_and_nowhere_else(proxied: Proxied, spoken: str, model: str) -> None:
    credential, session = f"sk-own-{uuid.uuid4().hex}", uuid.uuid4().hex
    until(lambda: ask(proxied, spoken, model, credential, session) == 200)
    proxied.recorded(session)
    asked = proxied.simulator.get_json("/_requests")["requests"][-1]["headers"]
    digests = {hashlib.sha256(value.encode()).hexdigest() for value in (credential, f"Bearer {credential}")}
    assert {asked.get(name, "").removeprefix("sha256:") for name in ("authorization", "x-api-key")} & digests
    assert "x-streamviz-key" not in asked
    assert kept_of(proxied, credential) == []


@pytest.mark.parametrize("spoken", PATHS)
@pytest.mark.parametrize("scenario", ["error-401", "error-midstream"])
def test_a_clients_credential_is_kept_nowhere_when_the_call_fails(proxied: Proxied, spoken: str, scenario: str) -> None:
    credential, session = f"sk-own-{uuid.uuid4().hex}", uuid.uuid4().hex
    for model in (f"sim/{scenario}", f"raw-{scenario}", f"other-{scenario}"):
        assert ask(proxied, spoken, model, credential, f"{session}-{model}") in (200, 401)
        proxied.recorded(f"{session}-{model}")
    assert kept_of(proxied, credential) == []


def test_tokens_are_counted_with_it(proxied: Proxied) -> None:
    headers = {"x-api-key": "sk-own", "x-streamviz-key": proxied.server.api_key}
    body = {"model": "sim/content", "messages": MESSAGES}
    response = proxied.http.post("/v1/messages/count_tokens", json=body, headers=headers)
    assert response.json()["input_tokens"] > 0
    asked = proxied.simulator.get_json("/_requests")["requests"][-1]["headers"]
    assert asked["x-api-key"].endswith(hashlib.sha256(b"sk-own").hexdigest())


@pytest.mark.parametrize("key", [None, "sv-wrong", "sk-own"])
def test_the_providers_credential_opens_nothing_here(proxied: Proxied, key: str | None) -> None:
    headers = {"authorization": f"Bearer {proxied.server.api_key}"} | ({"x-streamviz-key": key} if key else {})
    response = proxied.http.post(PATHS["openai_chat"], content=json.dumps({"model": "sim/content"}), headers=headers)
    assert response.status_code == 401
    assert "x-streamviz-key" in response.json()["error"]["message"]
