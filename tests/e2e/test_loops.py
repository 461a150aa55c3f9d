"""A route that leads back to this server: such a call ends by itself, in its client's format."""

import uuid
from collections.abc import Iterator

import httpx
import pytest

from streamviz.records.models.access import digest
from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Streamviz

# The shared server's credential for its simulator is an API key of its own here.
CREDENTIAL, SECRET = "SIMULATED_KEY", "sk-simulated"
ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, %s)"
KEY = (
    "INSERT INTO records_apikey (name, prefix, digest, created_at, default_provider, may_choose_executor)"
    " VALUES (%s, 'sk', %s, now(), %s, true)"
)
SAID_IN_MESSAGES = ("/v1/chat/completions", "/v1/messages")


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Proxied]:
    with Proxied(shared_server) as found:
        yield found


@pytest.fixture(scope="module")
def loop(proxied: Proxied) -> Iterator[str]:
    """A model that is called on this same server, by its name here."""
    name = f"loop-{uuid.uuid4().hex[:8]}"
    proxied.query(ROUTE, name, f"openai/{name}", f"{proxied.server.base_url}/v1", CREDENTIAL)
    proxied.query(KEY, name, digest(SECRET), name)
    headers = {"authorization": f"Bearer {SECRET}"}
    until(lambda: proxied.http.get(f"/v1/models/{name}", headers=headers).status_code == 200)
    yield name
    proxied.query("UPDATE records_apikey SET revoked_at = now() WHERE name = %s", name)
    proxied.query("DELETE FROM records_route WHERE name = %s", name)


def ask(proxied: Proxied, path: str, model: str, **headers: str) -> httpx.Response:
    said = {"messages": MESSAGES, "max_tokens": 9} if path in SAID_IN_MESSAGES else {"input": "Hi"}
    sent = {"authorization": f"Bearer {SECRET}", **headers}
    return proxied.http.post(path, json={"model": model, **said}, headers=sent)


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        ("/v1/chat/completions", {}, "loop"),
        ("/v1/chat/completions", {"x-streamviz-executor": "reasoning"}, "loop"),
        ("/v1/responses", {}, "loop"),
        ("/v1/embeddings", {}, "loop"),
        ("/v1/files", {}, "loop"),
        # Errors in Anthropic's format have no code.
        ("/v1/messages", {}, None),
    ],
    ids=["chat", "run", "responses", "embeddings", "files", "messages"],
)
def test_a_call_that_comes_back_again_and_again_is_refused(
    proxied: Proxied, loop: str, path: str, headers: dict[str, str], code: str | None
) -> None:
    answer = ask(proxied, path, loop, **headers)
    error = answer.json()["error"]
    assert (answer.status_code, error.get("code")) == (400, code)
    assert "leads back" in error["message"]
