"""Gemini's endpoints through a whole server: Google's SDK in front, the simulator and other providers behind it."""

import json
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from google import genai
from google.genai import errors, types

from tests.e2e.proxied import Answer, Proxied, until
from tests.e2e.test_client_credentials import kept_of
from tests.recordings import expected, sample
from tests.services import Streamviz

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, '')"
CONTENTS = [{"role": "user", "parts": [{"text": "Hello"}]}]
TOOLS = [{"functionDeclarations": [{"name": "read_file", "parameters": {"type": "OBJECT", "properties": {}}}]}]
SCENARIOS = ("tools", "thinking", "error-midstream", "error-429")


@pytest.fixture(scope="module")
def proxied(replaying_server: Streamviz) -> Iterator[Proxied]:
    with Proxied(replaying_server) as found:
        for scenario in SCENARIOS:
            found.query(ROUTE, f"google-{scenario}", f"gemini/{scenario}?speed=inf", f"{found.simulator.url}/v1beta")
            found.query(ROUTE, f"deepseek-{scenario}", f"deepseek/{scenario}?speed=inf", f"{found.simulator.url}/v1")
            found.query(ROUTE, f"claude-{scenario}", f"anthropic/{scenario}?speed=inf", found.simulator.url)
        until(lambda: call(found, "google-error-429").status == 429)
        yield found


@pytest.fixture
def sdk(proxied: Proxied) -> genai.Client:
    options = types.HttpOptions(base_url=proxied.server.base_url)
    return genai.Client(api_key=proxied.server.api_key, http_options=options)


def call(proxied: Proxied, model: str, method: str = "generateContent", **more: Any) -> Answer:
    session = more.pop("session", "")
    path = f"/v1beta/models/{quote(model, safe='')}:{method}"
    headers = {"x_session_id": session} if session else {}
    return proxied.post({"contents": CONTENTS, **more}, path, **headers)


def asked(session: str) -> Any:
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="read_file")])
    return types.GenerateContentConfig(
        tools=[tool],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        http_options=types.HttpOptions(headers={"x-session-id": session}),
    )


def said(chunks: list[types.GenerateContentResponse]) -> tuple[str, str, list[tuple[str | None, Any]]]:
    parts = [part for chunk in chunks for part in chunk.parts or []]
    texts = [part for part in parts if part.text]
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    return (
        "".join(part.text or "" for part in texts if not part.thought),
        "".join(part.text or "" for part in texts if part.thought),
        calls,
    )


def test_googles_client_lists_models(proxied: Proxied, sdk: genai.Client) -> None:
    named = [model.name for model in sdk.models.list()]
    assert {"models/google-tools", "models/sim/content"} <= set(named)
    assert sdk.models.get(model="google-tools").name == "models/google-tools"
    described = proxied.http.get("/v1beta/models/ollama/llama3:8b", headers={"x-goog-api-key": proxied.server.api_key})
    assert described.json()["name"] == "models/ollama/llama3:8b"
    listed = proxied.http.get("/v1/models", headers={"x-goog-api-key": proxied.server.api_key}).json()
    assert [each["name"] for each in listed["models"]] == named
    with pytest.raises(errors.ClientError):
        sdk.models.get(model="nobody/nothing")


@pytest.mark.parametrize("lane", ["google", "deepseek", "claude"])
@pytest.mark.parametrize("scenario", ["tools", "thinking"])
def test_googles_client_gets_the_same_in_all_ways(
    proxied: Proxied, sdk: genai.Client, lane: str, scenario: str
) -> None:
    session, model = uuid.uuid4().hex, f"{lane}-{scenario}"
    streamed = list(sdk.models.generate_content_stream(model=model, contents="Hello", config=asked(session)))
    whole = sdk.models.generate_content(model=model, contents="Hello", config=asked(uuid.uuid4().hex))
    content, thinking, calls = said(streamed)
    assert said([whole]) == (content, thinking, calls)
    assert bool(calls) == (scenario == "tools")
    assert bool(thinking) == (scenario == "thinking")
    last = streamed[-1]
    assert last.candidates is not None
    assert last.candidates[0].finish_reason is types.FinishReason.STOP
    assert last.usage_metadata is not None
    assert last.usage_metadata.prompt_token_count
    recorded = proxied.recorded(session)
    assert (recorded.outcome, recorded.status) == ("completed", 200)


def test_what_upstream_sends_goes_through_as_it_is(proxied: Proxied) -> None:
    answer = call(proxied, "google-tools", "streamGenerateContent?alt=sse")
    assert answer.body == proxied.sent_upstream(answer)
    [sent] = proxied.requests_upstream(answer.headers)
    assert sent["body"] == {"contents": CONTENTS}


def test_without_events_a_stream_is_one_list(proxied: Proxied) -> None:
    events = call(proxied, "google-tools", "streamGenerateContent?alt=sse").body
    answer = call(proxied, "google-tools", "streamGenerateContent")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body) == [json.loads(event[6:]) for event in events.split(b"\r\n\r\n") if event]


def test_a_stream_that_fails_is_raised(sdk: genai.Client) -> None:
    with pytest.raises(errors.ServerError) as raised:
        list(sdk.models.generate_content_stream(model="google-error-midstream", contents="Hello"))
    assert (raised.value.code, raised.value.status) == (500, "INTERNAL")


def test_a_refusal_is_told_as_google_tells_it(proxied: Proxied) -> None:
    refused = [
        (call(proxied, "google-error-429"), 429, "RESOURCE_EXHAUSTED"),
        (call(proxied, "deepseek-error-429"), 429, "RESOURCE_EXHAUSTED"),
        (call(proxied, "nobody/knows-it"), 404, "NOT_FOUND"),
        (call(proxied, "google-tools", "makeCoffee"), 404, "NOT_FOUND"),
        (proxied.post(b"{", "/v1beta/models/google-tools:generateContent"), 400, "INVALID_ARGUMENT"),
        (
            proxied.post({}, "/v1beta/models/google-tools:generateContent", authorization="Bearer x"),
            401,
            "UNAUTHENTICATED",
        ),
    ]
    for answer, status, word in refused:
        assert (answer.status, answer.error["code"], answer.error["status"]) == (status, status, word)


def test_a_key_in_the_query_is_kept_nowhere(proxied: Proxied) -> None:
    key, session = proxied.server.api_key, uuid.uuid4().hex
    path = f"/v1beta/models/google-tools:generateContent?key={key}"
    response = proxied.http.post(path, json={"contents": CONTENTS}, headers={"x-session-id": session})
    assert response.status_code == 200
    proxied.recorded(session)
    assert [place for place in kept_of(proxied, key) if place != "log"] == []
    assert f"key={key}" not in proxied.server.output()


def test_tokens_are_counted(proxied: Proxied, sdk: genai.Client) -> None:
    assert (sdk.models.count_tokens(model="google-tools", contents="Hello").total_tokens or 0) > 0
    counted = json.loads(call(proxied, "deepseek-tools", "countTokens").body)
    assert counted["totalTokens"] > 0


@pytest.mark.parametrize("field", [{"cachedContent": "cachedContents/1"}, {"tools": [{"googleSearch": {}}]}])
def test_what_cannot_be_said_elsewhere_is_refused_in_words(proxied: Proxied, field: Any) -> None:
    answer = call(proxied, "deepseek-tools", **field)
    assert (answer.status, answer.error["status"]) == (400, "INVALID_ARGUMENT")
    assert "gemini/" in answer.error["message"]


def test_tools_and_results_reach_another_provider(proxied: Proxied) -> None:
    turns = [
        *CONTENTS,
        {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"path": "a"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"text": "b"}}}]},
    ]
    answer = call(
        proxied, "deepseek-tools", contents=turns, tools=TOOLS, systemInstruction={"parts": [{"text": "Be."}]}
    )
    assert answer.status == 200
    sent = proxied.simulator.get_json("/_requests")["requests"][-1]["body"]
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "tool"]
    assert sent["messages"][3]["tool_call_id"] == sent["messages"][2]["tool_calls"][0]["id"]
    assert sent["tools"][0]["function"]["parameters"]["type"] == "object"


def test_every_recorded_stream_passes_untouched_and_is_kept_so(proxied: Proxied) -> None:
    for path in sample("gemini", 14):
        answer = call(proxied, f"sim/replay:gemini/{path.stem}", "streamGenerateContent?alt=sse", session=path.stem)
        assert answer.body == path.read_bytes(), path.stem
        kept = proxied.recorded(path.stem)
        assert b"".join(proxied.chunks(kept)) == path.read_bytes()
        assert kept.finish_reason == (expected(path)["finish_reason"] or "")
