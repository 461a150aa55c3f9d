"""Clients that do not ask for usage get none, but the record has it all the same."""

import json
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.proxied import MESSAGES, Answer, Proxied, until
from tests.services import Streamviz

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, 'SIMULATED_KEY')"
SCENARIOS = ("content", "thinking", "parallel-tools", "no-finish", "error-midstream")
TOLD = "SELECT usage, input_tokens, output_tokens, is_estimated, hides_usage FROM records_stream WHERE id = %s"
STREAM = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def model(scenario: str) -> str:
    return f"{scenario}?seed=11&speed=inf&seconds=0.01"


class Plain(BaseHTTPRequestHandler):
    """A server that speaks most of OpenAI's chat format."""

    asked: list[Any] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body)
        is_refused = "stream_options" in body
        said = b'{"error":{"message":"Unrecognized request argument: stream_options"}}' if is_refused else STREAM
        self.send_response(400 if is_refused else 200)
        self.send_header("content-type", "application/json" if is_refused else "text/event-stream")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)


@pytest.fixture(scope="module")
def proxied(shared_server: Streamviz) -> Iterator[Proxied]:
    """A streamviz that uses the simulator as OpenAI and as Anthropic."""
    with (
        Proxied(shared_server) as found,
        ThreadingHTTPServer(("127.0.0.1", 0), Plain) as plain,
    ):
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        for scenario in SCENARIOS:
            found.query(ROUTE, f"openai-{scenario}", f"openai/{model(scenario)}", f"{found.simulator.url}/v1")
        found.query(ROUTE, "anthropic-content", f"anthropic/{model('content')}", found.simulator.url)
        found.query(ROUTE, "plain", "openai/m", f"http://127.0.0.1:{plain.server_port}/v1")
        until(lambda: "plain" in {each.id for each in found.sdk.models.list()})
        yield found
        plain.shutdown()


@pytest.fixture
def session() -> str:
    return uuid.uuid4().hex


def ask(proxied: Proxied, name: str, session: str, **more: Any) -> Answer:
    return proxied.post({"model": name, "messages": MESSAGES, "stream": True, **more}, x_session_id=session)


@pytest.mark.parametrize("scenario", ["content", "thinking", "parallel-tools"])
def test_the_client_gets_what_it_would_have_got_and_the_record_has_usage(
    proxied: Proxied, session: str, scenario: str
) -> None:
    answer = ask(proxied, f"openai-{scenario}", session)
    unasked = proxied.simulator.ask("openai_chat", model(scenario)).read()
    kept = proxied.recorded(session)
    sent = proxied.sent_upstream(answer)
    [(usage, asked, said, is_estimated, hides)] = proxied.query(TOLD, kept.id)
    assert answer.body == unasked
    assert b"".join(proxied.chunks(kept)) == sent
    assert b'"choices":[],"usage":{' in sent
    assert proxied.client_tape(kept) == answer.body
    assert proxied.passed(kept) == [seq for seq in range(kept.chunk_count) if seq != kept.chunk_count - 2]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (asked, said)
    assert (is_estimated, hides) == (False, True)


def test_a_client_that_asks_gets_it_untouched(proxied: Proxied, session: str) -> None:
    answer = ask(proxied, "openai-content", session, stream_options={"include_usage": True})
    kept = proxied.recorded(session)
    assert answer.body == proxied.sent_upstream(answer) == proxied.client_tape(kept)
    assert b'"choices":[],"usage":{' in answer.body


def test_what_the_client_asks_beside_it_stays(proxied: Proxied, session: str) -> None:
    answer = ask(proxied, "openai-content", session, stream_options={"include_obfuscation": False})
    assert b"usage" not in answer.body
    assert b"obfuscation" not in answer.body
    asked = proxied.asked_upstream(answer.headers)
    assert asked["stream_options"] == {"include_obfuscation": False, "include_usage": True}


@pytest.mark.parametrize("scenario", ["no-finish", "error-midstream"])
def test_a_stream_that_breaks_off_has_none_of_it_either(proxied: Proxied, session: str, scenario: str) -> None:
    answer = ask(proxied, f"openai-{scenario}", session)
    kept = proxied.recorded(session)
    assert b'"usage"' not in answer.body
    assert proxied.client_tape(kept) == answer.body
    [(_, asked, said, is_estimated, _)] = proxied.query(TOLD, kept.id)
    assert is_estimated
    assert asked > 0
    assert said > 0


def test_a_provider_that_does_not_take_the_question_is_asked_once(proxied: Proxied) -> None:
    Plain.asked.clear()
    for _ in range(3):
        assert ask(proxied, "plain", uuid.uuid4().hex).body == STREAM
    assert ["stream_options" in asked for asked in Plain.asked] == [True, False, False, False]


def test_a_provider_of_another_format_is_asked_too(proxied: Proxied, session: str) -> None:
    answer = ask(proxied, "anthropic-content", session)
    kept = proxied.recorded(session)
    [(_, asked, said, is_estimated, _)] = proxied.query(TOLD, kept.id)
    assert b"usage" not in answer.body
    assert asked > 0
    assert said > 0
    assert not is_estimated


def test_the_simulators_own_models_are_not_asked(proxied: Proxied, session: str) -> None:
    answer = proxied.ask(model("content"), session)
    kept = proxied.recorded(session)
    assert answer.body == proxied.sent_upstream(answer)
    assert proxied.query(TOLD, kept.id)[0][3:] == (True, False)
