"""One streamviz with the scripted provider behind it, for all clients; routes are created as cases need them."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients import environments
from tests.clients.cases import Case
from tests.conftest import missing
from tests.e2e.proxied import Proxied, until
from tests.e2e.test_policies import Guarded
from tests.services import Program, Serving, clean_environment, free_port

ROUTE = "INSERT INTO records_route (name, target, base_url, credential) VALUES (%s, %s, %s, '')"
STREAMS = """
SELECT outcome, status, input_tokens, cache_read_tokens, cache_written_tokens, output_tokens, cost, session_id,
       relation, left_out, error, is_estimated,
       ARRAY(SELECT text FROM records_block WHERE stream_id = stream.id AND kind = 'tool_call' ORDER BY ordinal)
FROM records_stream AS stream WHERE requested_model = %s ORDER BY requested_at
"""


@dataclass(frozen=True)
class Recorded:
    """What the record has of a stream."""

    outcome: str
    status: int | None
    input: int | None
    read: int | None
    written: int | None
    output: int | None
    cost: Any
    session: Any
    relation: str
    left_out: str
    error: str
    is_estimated: bool
    calls: list[str]


class Between:
    """streamviz, between clients and the scripted provider."""

    def __init__(self, proxied: Proxied, port: int) -> None:
        self.base = proxied.server.base_url
        self.key = proxied.server.api_key
        self.proxied = proxied
        self._port = port

    def open(self, case: Case) -> dict[str, str]:
        """Create the routes for a case's tasks and wait until they can be called; returns each task's model."""
        for task in case.tasks:
            self.proxied.query(ROUTE, *case.target(self._port, task))
        models = {task: case.model(task) for task in case.tasks}
        until(lambda: set(models.values()) <= {model.id for model in self.proxied.sdk.models.list()})
        return models

    def recorded(self, model: str, count: int = 1, turns: int = 0) -> list[Recorded]:
        """The streams of a model in order, once there are `count` of them, `turns` of which are turns, and all have
        ended and are in one session; after 15 seconds, whatever there is."""

        if not count:
            return []

        def look() -> list[Recorded]:
            found = [Recorded(*row) for row in self.proxied.query(STREAMS, model)]
            are_there = len(found) >= count and [stream.relation for stream in found].count("turn") >= turns
            are_over = are_there and all(stream.outcome for stream in found)
            return found if are_over and len({stream.session for stream in found}) == 1 else []

        try:
            streams: list[Recorded] = until(look, seconds=15)
        except AssertionError:
            return [Recorded(*row) for row in self.proxied.query(STREAMS, model)]
        return streams


@pytest.fixture(scope="session")
def between(serving: Serving) -> Iterator[Between]:
    port = free_port()
    provider = Program([sys.executable, "-m", "tests.clients.provider", str(port)], clean_environment())
    try:
        with serving() as running, Proxied(running) as proxied:
            yield Between(proxied, port)
    finally:
        provider.process.terminate()
        provider.wait()


@pytest.fixture
def guarded(between: Between) -> Iterator[Guarded]:
    """Puts policies in force for the duration of a test, signed in as the administrator."""
    with Guarded(between.proxied.server) as found:
        found.sign_in()
        yield found
        found.remove()


def decide(guarded: Guarded, model: str, decision: str, count: int = 1) -> None:
    """Allow or deny `count` calls of a model that wait for a person."""
    found = set[Any]()

    def look() -> bool:
        found.update(decided(guarded, model, decision))
        return len(found) >= count

    until(look)


def decided(guarded: Guarded, model: str, decision: str) -> set[Any]:
    """Allow or deny everything of a model that waits for a person; returns the streams in which something did."""
    form = {"csrfmiddlewaretoken": guarded.http.cookies["csrftoken"], "decision": decision}
    return {
        stream
        for (stream,) in guarded.query("SELECT id FROM records_stream WHERE requested_model = %s", model)
        for asks in ("1", "2")
        if guarded.http.post(f"/streams/{stream}/decide/", data={**form, "asks": asks}).is_success
    }


@pytest.fixture(scope="session")
def programs() -> Iterator[Any]:
    """Gives the folder of an environment's programs, created once; skips the test if Node is missing."""
    made: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name in ("node", "node_ai6", "agents", "other_agents", "mcp_node") and not shutil.which("npm"):
            missing("npm")
        if name not in made:
            made[name] = environments.prepare(name)
        return made[name]

    yield find
