"""Embeddings through a whole server, as OpenAI's SDK requests them."""

import json
import uuid
from collections.abc import Iterator

import openai
import pytest

from tests.e2e.proxied import Proxied, until
from tests.services import Streamviz

pytestmark = pytest.mark.slow

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, '')"
RECORD = (
    "SELECT stream.id, endpoint, wire_format, outcome, status, input_tokens, output_tokens, chunk_count, block_count,"
    " request"
    " FROM records_stream AS stream JOIN records_session AS session ON session.id = session_id"
    " WHERE name = %s AND outcome <> ''"
)
KEY = "sk-proj-" + "Ab1_" * 12


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Proxied]:
    with Proxied(shared_server) as found:
        found.query(ROUTE, "vectors", "openai/any", f"{found.simulator.url}/v1")
        found.query(ROUTE, "elsewhere", "deepinfra/any", f"{found.simulator.url}/v1")
        until(lambda: found.post({"model": "vectors", "input": "x"}, "/v1/embeddings").status == 200)
        found.sign_in()
        yield found


@pytest.mark.parametrize("model", ["vectors", "sim/any", "elsewhere"])
def test_embeddings_are_a_call_in_the_record(proxied: Proxied, model: str) -> None:
    session = uuid.uuid4().hex
    answer = proxied.sdk.embeddings.create(
        model=model, input=["one", "two"], encoding_format="float", extra_headers={"x-session-id": session}
    )
    assert [len(each.embedding) for each in answer.data] == [32, 32]
    [(id, endpoint, wire_format, *rest, request)] = until(lambda: proxied.query(RECORD, session))
    assert (endpoint, wire_format) == ("/v1/embeddings", "embeddings")
    assert rest == ["completed", 200, answer.usage.prompt_tokens, 0, 1, 0]
    assert json.loads(bytes(request))["input"] == ["one", "two"]
    assert proxied.http.get(f"/streams/{id}/").status_code == 200


def test_what_a_policy_masks_does_not_go_upstream(proxied: Proxied) -> None:
    proxied.switch("secret-leak", "enforce")
    try:
        answer = proxied.post({"model": "vectors", "input": ["It is", f"this: {KEY}"]}, "/v1/embeddings")
        assert proxied.asked_upstream(answer.headers)["input"] == ["It is", "this: [api key removed]"]
        tokens = proxied.post({"model": "vectors", "input": [1, 2]}, "/v1/embeddings")
        assert (tokens.status, tokens.error["code"]) == (400, "unreadable_input")
    finally:
        proxied.switch("secret-leak", "off")
    assert proxied.post({"model": "vectors", "input": [[1, 2]]}, "/v1/embeddings").status == 200


def test_errors_of_embeddings_are_openais(proxied: Proxied) -> None:
    for body, code in (({"model": "vectors", "input": "x", "stream": True}, "invalid_type"),
                       ({"input": "x"}, "invalid_type")):  # fmt: skip
        assert proxied.post(body, "/v1/embeddings").error["code"] == code
    with pytest.raises(openai.NotFoundError):
        proxied.sdk.embeddings.create(model="nobody/knows-it", input="x")
