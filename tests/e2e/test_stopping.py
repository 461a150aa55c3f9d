"""A server that is told to stop gives its streams time. Those still left then end legally, in each format."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.core.wire import legal
from tests.core.wire.official import payloads
from tests.e2e.machine import Machine
from tests.e2e.proxied import MESSAGES, until
from tests.e2e.test_faults import told_at_the_end
from tests.services import NewDatabase
from tests.simulator.process import PATHS, running_simulator

pytestmark = pytest.mark.slow

HOLD = """
from streamviz.records.models import Policy
Policy(name="guard", kind="tool_rule", parameters={"names": ["run_shell"]}, mode="enforce", by_hand="deny").save()
"""
OUTCOMES = "SELECT outcome, error, count(*) FROM records_stream GROUP BY 1, 2"
RUNNING = "SELECT count(*) FROM records_stream"


@pytest.fixture
def machine(new_database: NewDatabase, tmp_path: Path) -> Iterator[Machine]:
    """A server with a short grace period, a policy whose holds a person decides, and a writer."""
    with running_simulator() as simulator, new_database() as url:
        made = Machine(tmp_path, url, simulator, STOP_GRACE_SECONDS="1")
        made.prepare()
        made.manage("shell", "--no-imports", "-c", HOLD)
        made.start_writer()
        made.start_server()
        yield made
        made.stop()


def request(wire_format: str, model: str, *, stream: bool) -> dict[str, Any]:
    said = {"input": "Hello"} if wire_format == "openai_responses" else {"messages": MESSAGES}
    return {"model": f"sim/{model}", "stream": stream, "max_tokens": 900, **said}


def call(machine: Machine, wire_format: str, model: str, *, stream: bool) -> httpx.Response:
    """The whole answer. Raises httpx.RemoteProtocolError if it is cut off."""
    headers = {"authorization": f"Bearer {machine.key}"}
    body = request(wire_format, model, stream=stream)
    return httpx.post(machine.base_url + PATHS[wire_format], json=body, headers=headers, timeout=600)


def reading_nothing(machine: Machine) -> socket.socket:
    """A client that has made a call and reads nothing of a large answer."""
    body = json.dumps(request("openai_chat", "content?chunks=30000&speed=inf", stream=True)).encode()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", machine.port))
    head = f"POST {PATHS['openai_chat']} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {machine.key}\r\n"
    client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return client


def test_what_is_left_after_the_grace_ends_legally(machine: Machine) -> None:
    models = {"content?chunks=50000&pace=20": True, "dangerous?speed=inf": True, "slow?seconds=600": False}
    asked = [(wire_format, model, stream) for wire_format in PATHS for model, stream in models.items()]
    with ThreadPoolExecutor(len(asked)) as pool, reading_nothing(machine):
        answers: list[Future[httpx.Response]] = [
            pool.submit(call, machine, wire_format, model, stream=stream) for wire_format, model, stream in asked
        ]
        until(lambda: machine.query(RUNNING) == [(len(asked) + 1,)])
        assert machine.server
        machine.server.process.terminate()
        assert machine.server.wait() == 0
        for (wire_format, _, stream), answer in zip(asked, answers, strict=True):
            assert_told(wire_format, answer.result(), is_streaming=stream)
    until(lambda: machine.query(OUTCOMES) == [("interrupted", "streamviz was stopped", len(asked) + 1)])


def assert_told(wire_format: str, answer: httpx.Response, *, is_streaming: bool) -> None:
    """Assert that an answer is complete, in its format, and ends with an error."""
    if not is_streaming:
        assert (answer.status_code, "stopped" in answer.json()["error"]["message"]) == (503, True)
        return
    assert answer.status_code == 200
    assert "stopped" in told_at_the_end(wire_format, answer.content)
    assert b"run_shell" not in answer.content
    legal.check(wire_format, payloads(answer.content))
