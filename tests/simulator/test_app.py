"""Reproducible answers, bad requests, and what the simulator stores of both."""

import json

import pytest

from streamviz.simulator.endpoints import Endpoint
from tests.simulator.process import Simulator


def test_the_same_request_gets_the_same_bytes(simulator: Simulator, wire_format: str) -> None:
    first, second = (simulator.ask(wire_format, "thinking").read() for _ in range(2))
    assert first == second


def test_another_process_sends_the_same_bytes(
    simulator: Simulator, plain_simulator: Simulator, wire_format: str
) -> None:
    assert (
        simulator.ask(wire_format, "tools?speed=inf").read()
        == plain_simulator.ask(wire_format, "tools?speed=inf").read()
    )


def test_prompts_and_seeds_differ(simulator: Simulator, wire_format: str) -> None:
    bodies = [
        simulator.ask(wire_format, "content", prompt="Hello").read(),
        simulator.ask(wire_format, "content", prompt="Hello!").read(),
        simulator.ask(wire_format, "content?seed=1").read(),
        simulator.ask(wire_format, "content?seed=2").read(),
    ]
    assert len(set(bodies)) == 4


def test_a_seed_holds_whatever_the_prompt(simulator: Simulator, wire_format: str) -> None:
    bodies = {simulator.ask(wire_format, "content?seed=1", prompt=prompt).read() for prompt in ("a", "b b b")}
    assert len(bodies) == 1


@pytest.mark.parametrize(
    "body", [b"", b"[" * 100_000, b"not json", b"[]", b'{"model": 4}', b'{"model": "content"}', b'{"model": "\xff"}']
)
def test_it_rejects_bad_requests_in_the_formats_shape(simulator: Simulator, endpoint: Endpoint, body: bytes) -> None:
    connection = simulator.connect()
    connection.request("POST", endpoint.path, body)
    response = simulator.response(connection)
    error = json.loads(response.read())
    assert response.status == 400
    assert error["error"]["type"] == "invalid_request_error"
    assert (error.get("type") == "error") is (endpoint.wire_format == "anthropic_messages")


def test_it_keeps_what_it_was_asked_and_what_it_sent(simulator: Simulator, wire_format: str) -> None:
    response = simulator.ask(wire_format, "dangerous", temperature=0.25)
    body = response.read()
    request_id = response.headers["x-simulator-request"]
    assert simulator.get(f"/_sent/{request_id}") == body
    [kept] = [row for row in simulator.get_json("/_requests")["requests"] if row["id"] == request_id]
    assert kept["body"]["temperature"] == 0.25
    assert simulator.get_json(f"/_ended/{request_id}") == {
        "id": request_id,
        "path": kept["path"],
        "bytes_sent": len(body),
        "open": False,
        "closed_early": False,
    }


@pytest.mark.parametrize("host", ["rebound.example", "rebound.example:80", "127.0.0.1.nip.example"])
def test_a_site_whose_name_leads_here_reads_nothing_of_what_was_asked(simulator: Simulator, host: str) -> None:
    for path in ("/_requests", "/_open", "/_sent/1", "/_ended/1"):
        connection = simulator.connect()
        connection.request("GET", path, headers={"host": host})
        assert simulator.response(connection).status == 403


@pytest.mark.parametrize("host", ["localhost:9", "simulator", "[::1]:9", "10.0.0.1"])
def test_who_asks_by_an_address_or_a_name_of_this_network_may(simulator: Simulator, host: str) -> None:
    connection = simulator.connect()
    connection.request("GET", "/_requests", headers={"host": host})
    assert simulator.response(connection).status == 200


def test_errors_that_were_sent_are_kept_too(simulator: Simulator) -> None:
    response = simulator.ask("openai_chat", "error-429")
    assert simulator.get(f"/_sent/{response.headers['x-simulator-request']}") == response.read()


def test_it_is_healthy(simulator: Simulator) -> None:
    assert simulator.get_json("/healthz") == {"status": "ok"}
