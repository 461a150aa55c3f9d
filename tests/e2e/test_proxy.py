"""The proxy with real processes: the official SDK in front, the simulator behind it."""

import asyncio
import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import httpx
import openai
import pytest

from streamviz.simulator.scenarios import SCENARIOS
from tests.e2e.proxied import MESSAGES, Proxied, until
from tests.services import Streamviz

REFUSALS = {"error-400": 400, "error-401": 401, "error-429": 429, "error-500": 500}
BROKEN = {"error-midstream", "garbage", "no-finish", "disconnect"}
STREAMING = [name for name in SCENARIOS if name not in REFUSALS]
WHOLE = [name for name in STREAMING if name not in BROKEN]


def model(scenario: str) -> str:
    """A scenario without delays."""
    return f"{scenario}?seed=11&speed=inf&seconds=0.01"


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Proxied]:
    with Proxied(shared_server) as found:
        yield found


@pytest.fixture
def session() -> str:
    """A name for the session of this test's call."""
    return uuid.uuid4().hex


@pytest.mark.parametrize("scenario", STREAMING)
def test_the_record_has_every_byte_on_both_tapes(proxied: Proxied, session: str, scenario: str) -> None:
    answer = proxied.ask(model(scenario), session)
    sent = proxied.sent_upstream(answer)
    stream = proxied.recorded(session)
    assert answer.status == 200
    assert b"".join(proxied.chunks(stream)) == sent
    assert proxied.client_tape(stream) == answer.body
    passed = proxied.passed(stream)
    assert passed == list(range(len(passed)))
    assert answer.body.startswith(b"".join(proxied.chunks(stream)[: len(passed)]))
    assert (stream.outcome == "upstream_error") is (scenario in BROKEN)
    assert bool(stream.error) is (scenario in BROKEN)
    if scenario in WHOLE:
        assert answer.body == sent
        assert len(passed) == stream.chunk_count


@pytest.mark.parametrize("scenario", WHOLE)
def test_a_whole_answer_comes_and_is_kept_as_it_is(proxied: Proxied, session: str, scenario: str) -> None:
    answer = proxied.ask(model(scenario), session, stream=False)
    stream = proxied.recorded(session)
    assert answer.headers["content-type"] == "application/json"
    assert answer.body == proxied.sent_upstream(answer)
    assert proxied.chunks(stream) == [answer.body]
    assert proxied.client_tape(stream) == answer.body
    assert (stream.outcome, stream.chunk_count) == ("completed", 1)
    assert stream.finish_reason == json.loads(answer.body)["choices"][0]["finish_reason"]


@pytest.mark.parametrize("scenario", WHOLE)
def test_the_sdk_adds_a_stream_up_to_the_whole_answer(proxied: Proxied, scenario: str) -> None:
    named = f"sim/{model(scenario)}"
    chunks = list(proxied.sdk.chat.completions.create(model=named, messages=MESSAGES, stream=True))
    whole = proxied.sdk.chat.completions.create(model=named, messages=MESSAGES).choices[0]
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    finish = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert "".join(delta.content or "" for delta in deltas) == (whole.message.content or "")
    assert "".join(delta.refusal or "" for delta in deltas) == (whole.message.refusal or "")
    assert finish == [whole.finish_reason]
    arguments: dict[int, str] = {}
    for call in (call for delta in deltas for call in delta.tool_calls or []):
        assert call.function is not None
        arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
    calls = [call for call in whole.message.tool_calls or [] if call.type == "function"]
    assert list(arguments.values()) == [call.function.arguments for call in calls]


@pytest.mark.parametrize("scenario", sorted(BROKEN))
def test_the_sdk_is_told_that_a_stream_broke(proxied: Proxied, scenario: str) -> None:
    stream = proxied.sdk.chat.completions.create(model=f"sim/{model(scenario)}", messages=MESSAGES, stream=True)
    came = []
    with pytest.raises((openai.APIError, json.JSONDecodeError)):
        came.extend(stream)
    assert any(choice.delta.content for chunk in came for choice in chunk.choices)


def test_the_first_delta_is_there_while_upstream_still_sends(proxied: Proxied) -> None:
    named = "sim/content?chunks=100000&pace=20"
    before = {each["id"] for each in proxied.open_upstream()}
    with proxied.sdk.chat.completions.create(model=named, messages=MESSAGES, stream=True) as stream:
        assert next(chunk for chunk in stream if chunk.choices and chunk.choices[0].delta.content)
        [still_sending] = [each for each in proxied.open_upstream() if each["id"] not in before]
    assert proxied.simulator.get_json(f"/_ended/{still_sending['id']}")["closed_early"] is True


async def test_fifty_streams_at_once_are_all_whole(proxied: Proxied) -> None:
    sessions = [uuid.uuid4().hex for _ in range(50)]
    url = f"{proxied.server.base_url}/v1"
    async with openai.AsyncOpenAI(base_url=url, api_key=proxied.server.api_key, max_retries=0) as sdk:

        async def read(number: int) -> str:
            stream = await sdk.chat.completions.create(
                model=f"sim/content?seed={number}&chunks=60&pace=5",
                messages=MESSAGES,
                stream=True,
                extra_headers={"x-session-id": sessions[number]},
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

        texts = await asyncio.gather(*map(read, range(50)))
        wholes = [
            await sdk.chat.completions.create(model=f"sim/content?seed={n}&chunks=60&speed=inf", messages=MESSAGES)
            for n in range(50)
        ]
    assert texts == [whole.choices[0].message.content for whole in wholes]
    assert len(set(texts)) > 1
    for session, text in zip(sessions, texts, strict=True):
        stream = proxied.recorded(session)
        assert stream.outcome == "completed"
        assert proxied.query("SELECT text FROM records_block WHERE stream_id = %s", stream.id) == [(text,)]
        assert len(proxied.passed(stream)) == stream.chunk_count == stream.frame_count


# Requests


def test_every_parameter_reaches_upstream(proxied: Proxied, session: str) -> None:
    parameters: dict[str, Any] = {
        "messages": [
            {"role": "system", "content": "é\u2028\U0001f9ea"},
            {"role": "user", "content": [{"type": "text", "text": "?"}]},
        ],
        "temperature": 0.25,
        "top_p": 1,
        "n": 1,
        "stop": ["a", "\n"],
        "max_completion_tokens": 77,
        "seed": 12345678901234567890,
        "logit_bias": {"50256": -100},
        "user": "alice",
        "metadata": {"session_id": session},
        "response_format": {"type": "json_object"},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "stream_options": {"include_usage": True},
        "reasoning_effort": "low",
        "store": True,
    }
    unknown = {"provider_specific": {"deep": [1, None, {"x": 1.5}]}, "api_base": "http://evil.test", "stream_it": False}
    response = proxied.sdk.chat.completions.with_raw_response.create(
        model=f"sim/{model('content')}", stream=True, extra_body=unknown, **parameters
    )
    response.http_response.read()
    expected = {"model": model("content"), "stream": True, **parameters, **unknown}
    assert proxied.asked_upstream(response.headers) == expected
    assert proxied.recorded(session).outcome == "completed"


def test_the_clients_key_stays_here(proxied: Proxied, session: str) -> None:
    answer = proxied.ask(model("content"), session)
    asked = proxied.simulator.get("/_requests").decode()
    assert proxied.server.api_key not in asked
    stream = proxied.recorded(session)
    assert proxied.query(
        "SELECT position(%s in s::text) FROM records_stream s WHERE id = %s", proxied.server.api_key, stream.id
    ) == [(0,)]
    assert answer.status == 200


def test_models_are_listed(proxied: Proxied) -> None:
    listed = [each.id for each in proxied.sdk.models.list()]
    assert {f"sim/{name}" for name in SCENARIOS} <= set(listed)
    assert len(listed) == len(set(listed))


def test_streams_of_a_named_session_are_together(proxied: Proxied, session: str) -> None:
    proxied.ask(model("content"), session)
    proxied.ask(model("tools"), session)
    counted = (
        "SELECT count(*) FROM records_stream JOIN records_session s ON s.id = session_id"
        " WHERE name = %s AND outcome <> ''"
    )
    until(lambda: proxied.query(counted, session) == [(2,)])
    assert proxied.query("SELECT count(*) FROM records_session WHERE name = %s", session) == [(1,)]


# Errors

GOOD = {"model": "sim/content?speed=inf", "messages": MESSAGES}


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer sv-wrong", "Basic c3Y6", "Bearer \xff\xfe", "sv-no-scheme"]
)
def test_no_call_is_let_in_without_a_key_that_is_known(proxied: Proxied, authorization: str) -> None:
    for method, path in (("POST", "/v1/chat/completions"), ("GET", "/v1/models")):
        headers = {"authorization": authorization.encode("latin-1")}
        response = proxied.http.request(method, path, headers=headers, json=GOOD)
        assert response.status_code == 401
        error = response.json()["error"]
        assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")
        assert "sv-wrong" not in response.text


def test_a_key_that_is_revoked_opens_nothing_from_then_on(proxied: Proxied) -> None:
    secret = "sv-revoked-in-a-moment"
    insert = (
        "INSERT INTO records_apikey (name, prefix, digest, created_at)"
        " VALUES ('short-lived', 'sv-revok', encode(sha256(%s), 'hex'), now())"
    )
    proxied.query(insert, secret.encode())
    sdk = openai.OpenAI(base_url=f"{proxied.server.base_url}/v1", api_key=secret, max_retries=0)

    def is_let_in() -> bool:
        try:
            return bool(sdk.models.list())
        except openai.AuthenticationError:
            return False

    until(is_let_in)
    proxied.query("UPDATE records_apikey SET revoked_at = now() WHERE name = 'short-lived'")
    until(lambda: not is_let_in())
    with pytest.raises(openai.AuthenticationError):
        sdk.chat.completions.create(model=GOOD["model"], messages=MESSAGES)
    with pytest.raises(openai.AuthenticationError):
        sdk.responses.create(model=GOOD["model"], input="Hello")
    sdk.close()
    with (
        anthropic.Anthropic(base_url=proxied.server.base_url, api_key=secret, max_retries=0) as messages,
        pytest.raises(anthropic.AuthenticationError),
    ):
        messages.messages.create(model=GOOD["model"], messages=[{"role": "user", "content": "Hello"}], max_tokens=9)


WRONG: list[tuple[bytes, str | None]] = [
    (b"", None),
    (b"not JSON", None),
    (b"[]", None),
    (b"null", None),
    (b'{"model": "sim/content", "messages": [}', None),
    (b'{"model": "\xff", "messages": []}', None),
    (b'{"model": NaN, "messages": []}', None),
    (b"[" * 100_000, None),
    (b'{"a":' * 100_000, None),
    (b'{"messages": []}', "model"),
    (b'{"model": 7, "messages": []}', "model"),
    (b'{"model": " ", "messages": []}', "model"),
    (b'{"model": "sim/content"}', "messages"),
    (b'{"model": "sim/content", "messages": "Hello"}', "messages"),
    (b'{"model": "sim/content", "messages": [], "stream": "yes"}', "stream"),
]


@pytest.mark.parametrize(("body", "parameter"), WRONG, ids=[str(body[:40]) for body, _ in WRONG])
def test_a_wrong_request_is_told_what_is_wrong(proxied: Proxied, body: bytes, parameter: str | None) -> None:
    answer = proxied.post(body)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
    assert answer.error["type"] == "invalid_request_error"
    assert answer.error["param"] == parameter
    assert answer.error["message"]


@pytest.mark.parametrize("name", ["no-such-model", "nobody/x", "huggingface/https://evil.test"])
def test_a_model_that_does_not_exist_is_not_found(proxied: Proxied, name: str) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        proxied.sdk.chat.completions.create(model=name, messages=MESSAGES)
    assert raised.value.code == "model_not_found"


def test_a_request_beyond_the_limit_is_too_large(proxied: Proxied) -> None:
    answer = proxied.post(b" " * (32 * 1024 * 1024 + 1))
    assert (answer.status, answer.error["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("POST", "/v1/nothing", 401),
        ("GET", "/v1/", 404),
    ],
)
def test_what_there_is_not_is_said_in_the_same_shape(proxied: Proxied, method: str, path: str, status: int) -> None:
    response = proxied.http.request(method, path)
    assert response.status_code == status
    assert response.json()["error"]["message"]
    assert ("allow" in response.headers) is (status == 405)


@pytest.mark.parametrize(("scenario", "status"), REFUSALS.items())
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
def test_a_refusal_comes_as_upstream_said_it(
    proxied: Proxied, session: str, scenario: str, status: int, stream: bool
) -> None:
    answer = proxied.ask(scenario, session, stream=stream)
    kept = proxied.recorded(session)
    assert (answer.status, kept.status, kept.outcome) == (status, status, "upstream_error")
    assert answer.body == proxied.sent_upstream(answer) == proxied.client_tape(kept)
    assert kept.error == answer.error["message"]


def test_the_sdk_learns_when_to_come_back(proxied: Proxied) -> None:
    with pytest.raises(openai.RateLimitError) as raised:
        proxied.sdk.chat.completions.create(model="sim/error-429", messages=MESSAGES, stream=True)
    assert int(raised.value.response.headers["retry-after"]) > 0


# Leaving


@pytest.mark.parametrize("named", ["stall?seconds=600&speed=inf", "content?chunks=100000&pace=5", "big?pace=1"])
def test_upstream_is_closed_when_the_client_leaves(proxied: Proxied, session: str, named: str) -> None:
    body = {"model": f"sim/{named}", "messages": MESSAGES, "stream": True}
    with proxied.posting(body, x_session_id=session) as response:
        assert next(response.iter_raw())
        request_id = response.headers["x-simulator-request"]
    assert proxied.simulator.get_json(f"/_ended/{request_id}")["closed_early"] is True
    stream = proxied.recorded(session)
    assert stream.outcome == "client_disconnected"
    assert stream.chunk_count > 0
    sent = proxied.simulator.get(f"/_sent/{request_id}")
    assert sent.startswith(b"".join(proxied.chunks(stream)))


def test_upstream_is_closed_when_the_client_leaves_before_the_first_byte(proxied: Proxied, session: str) -> None:
    body = json.dumps({"model": "sim/slow?seconds=600", "messages": MESSAGES, "stream": True})
    headers = {"Authorization": f"Bearer {proxied.server.api_key}", "x-session-id": session}
    before = {each["id"] for each in proxied.open_upstream()}
    with closing(HTTPConnection(httpx.URL(proxied.server.base_url).netloc.decode())) as client:
        client.request("POST", "/v1/chat/completions", body, headers)
        [waiting] = until(lambda: [each for each in proxied.open_upstream() if each["id"] not in before])
    assert proxied.simulator.get_json(f"/_ended/{waiting['id']}")["closed_early"] is True
    kept = proxied.recorded(session)
    assert (kept.outcome, kept.error) == ("client_disconnected", "the client left before the answer began")


@pytest.mark.parametrize("header", ["x-claude-code-session-id", "session-id", "session_id", "x-opencode-session"])
def test_an_agents_own_header_names_its_session(proxied: Proxied, session: str, header: str) -> None:
    body = {"model": "sim/content?chunks=2&speed=inf", "messages": MESSAGES}
    headers = {"Authorization": f"Bearer {proxied.server.api_key}", header: session}
    url = f"{proxied.server.base_url}/v1/chat/completions"
    assert httpx.post(url, json=body, headers=headers).status_code == 200
    assert proxied.recorded(session).outcome == "completed"


LAST_WORDS = {
    "/v1/chat/completions": b'data: {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'
    b"data: [DONE]\n\n",
    "/v1/messages": b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'
    b'data: {"type": "message_stop"}\n\n',
    "/v1/responses": b'data: {"type": "response.completed", "response": {"status": "completed", "output": []}}\n\n',
}
ERRORS = {
    "/v1/chat/completions": b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n',
    "/v1/messages": b'data: {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}\n\n',
    "/v1/responses": b'data: {"type": "error", "code": "server_error", "message": "overloaded"}\n\n',
}


class Lingering(BaseHTTPRequestHandler):
    """A provider that sends its last event, which may be an error, and ends the response only when released."""

    says = LAST_WORDS
    let_go = threading.Event()

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "Text/Event-Stream")  # in any case, like all media types
        self.end_headers()
        self.wfile.write(self.says[self.path])
        self.let_go.wait()


@pytest.fixture(scope="module")
def lingering(proxied: Proxied) -> Iterator[Proxied]:
    """The same streamviz, with a route to such a provider for each format."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Lingering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base_url = f"http://127.0.0.1:{server.server_port}"
        for name, target, url in (
            ("lingering-openai", "openai/m", f"{base_url}/v1"),
            ("lingering-anthropic", "anthropic/m", base_url),
        ):
            statement = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, %s)"
            proxied.query(statement, name, target, url, "SIMULATED_KEY")
        until(lambda: "lingering-anthropic" in {each.id for each in proxied.sdk.models.list()})
        yield proxied
        Lingering.let_go.set()
        server.shutdown()


@pytest.mark.parametrize(
    ("says", "ended"),
    [(LAST_WORDS, ("completed", "")), (ERRORS, ("upstream_error", "overloaded"))],
    ids=["end", "error"],
)
@pytest.mark.parametrize("path", LAST_WORDS)
def test_a_client_that_leaves_at_the_last_word_has_everything(
    lingering: Proxied, session: str, path: str, says: dict[str, bytes], ended: tuple[str, str]
) -> None:
    said = {"input": "Hello"} if path == "/v1/responses" else {"messages": MESSAGES, "max_tokens": 9}
    name = "lingering-anthropic" if path == "/v1/messages" else "lingering-openai"
    Lingering.let_go.clear()
    Lingering.says = says
    with lingering.posting({"model": name, "stream": True, **said}, path, x_session_id=session) as response:
        came = b""
        for piece in response.iter_raw():
            came += piece
            if came == says[path]:
                break
    Lingering.let_go.set()
    kept = lingering.recorded(session)
    assert (kept.outcome, kept.error) == ended
    assert lingering.client_tape(kept) == says[path]


# Policies


@pytest.fixture(scope="module")
def guarded(proxied: Proxied) -> Iterator[Proxied]:
    """The same streamviz with its administrator signed in; from here on tests switch its guard."""
    proxied.sign_in()
    yield proxied
    proxied.switch("shell-guard", "off")


def judged(guarded: Proxied, mode: str, session: str) -> int:
    """Switch the guard, and wait until that version of it judges requests."""
    version = guarded.switch("shell-guard", mode)

    def is_in_force() -> bool:
        probe = uuid.uuid4().hex
        guarded.ask(model("dangerous"), probe)
        return [row[:2] for row in guarded.verdicts(guarded.recorded(probe))] == [("shell-guard", version)]

    until(is_in_force)
    return version


@pytest.mark.parametrize("scenario", ["dangerous", "dangerous-parallel", "two-calls-one-chunk"])
@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
def test_an_enforced_policy_keeps_the_call_from_the_client(
    guarded: Proxied, session: str, scenario: str, stream: bool
) -> None:
    version = judged(guarded, "enforce", session)
    answer = guarded.ask(model(scenario), session, stream=stream)
    kept = guarded.recorded(session)
    assert b"run_shell" in guarded.sent_upstream(answer)
    assert b"".join(guarded.chunks(kept)) == guarded.sent_upstream(answer)
    for tape in (answer.body, guarded.client_tape(kept)):
        assert b"run_shell" not in tape
        assert b"rm -rf" not in tape
    assert guarded.client_tape(kept) == answer.body
    verdicts = guarded.verdicts(kept)
    assert [row[:4] for row in verdicts if row[3] == "deny"] == [("shell-guard", version, "enforce", "deny")]
    [denied] = [row[4] for row in verdicts if row[3] == "deny"]
    held = "SELECT name, held_by, released_at IS NULL FROM records_block WHERE stream_id = %s AND ordinal = %s"
    assert guarded.query(held, kept.id, denied) == [("run_shell", ["shell-guard"], True)]


@pytest.mark.parametrize(("scenario", "left"), [("dangerous", []), ("dangerous-parallel", ["read_file"])])
def test_what_is_left_of_it_is_legal_for_the_sdk(
    guarded: Proxied, session: str, scenario: str, left: list[str]
) -> None:
    judged(guarded, "enforce", session)
    named = f"sim/{model(scenario)}"
    with guarded.sdk.chat.completions.stream(model=named, messages=MESSAGES) as stream:
        streamed = stream.get_final_completion().choices[0]
    whole = guarded.sdk.chat.completions.create(model=named, messages=MESSAGES).choices[0]
    for choice in (streamed, whole):
        names = [call.function.name for call in choice.message.tool_calls or [] if call.type == "function"]
        assert names == left
        assert choice.finish_reason == ("tool_calls" if left else "stop")
        assert choice.message.content


def test_in_shadow_the_client_gets_everything_and_the_verdict_is_there(guarded: Proxied, session: str) -> None:
    version = judged(guarded, "shadow", session)
    answer = guarded.ask(model("dangerous"), session)
    kept = guarded.recorded(session)
    assert answer.body == guarded.sent_upstream(answer) == guarded.client_tape(kept)
    assert [row[:4] for row in guarded.verdicts(kept)] == [("shell-guard", version, "shadow", "deny")]
    assert guarded.query(
        "SELECT count(*) FROM records_block WHERE stream_id = %s AND held_at IS NOT NULL", kept.id
    ) == [(0,)]


def test_a_policy_that_is_off_leaves_no_trace(guarded: Proxied, session: str) -> None:
    judged(guarded, "shadow", session)
    guarded.switch("shell-guard", "off")

    def is_off() -> bool:
        probe = uuid.uuid4().hex
        guarded.ask(model("dangerous"), probe)
        return guarded.verdicts(guarded.recorded(probe)) == []

    until(is_off)


def test_a_stream_finishes_under_the_version_that_it_began_with(guarded: Proxied, session: str) -> None:
    version = judged(guarded, "enforce", session)
    body = {"model": "sim/dangerous?pace=40", "messages": MESSAGES, "stream": True}
    with guarded.posting(body, x_session_id=session) as response:
        pieces = response.iter_raw()
        came = next(pieces)
        guarded.switch("shell-guard", "off")
        came += b"".join(pieces)
    assert b"run_shell" not in came
    assert [row[:4] for row in guarded.verdicts(guarded.recorded(session))] == [
        ("shell-guard", version, "enforce", "deny")
    ]


def test_nothing_of_it_left_damage_in_the_record(proxied: Proxied) -> None:
    assert ", 0 damaged" in proxied.verify()
