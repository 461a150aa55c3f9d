"""Coding agents with streamviz as their provider, on models of two vendors: a five-step task, errors, and Ctrl-C."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients import agents
from tests.clients.agents import Place
from tests.clients.cases import AGENTS, Case, expected_cost
from tests.clients.conftest import Between, Recorded
from tests.clients.script import ANSWER, INPUT, OUTPUT, READ, STEPS
from tests.e2e.proxied import until

CASES = [pytest.param(case, task, id=f"{case.name}-{task}") for case in AGENTS for task in case.tasks]
RUNNING = "SELECT 1 FROM records_stream WHERE requested_model = %s"
LEAVING_SECONDS = 30


@pytest.fixture(scope="session")
def opened() -> set[str]:
    """The cases whose models exist already."""
    return set()


@pytest.mark.parametrize(("case", "task"), CASES)
def test_an_agent_does_its_task(
    case: Case, task: str, between: Between, opened: set[str], programs: Callable[[str], Path], tmp_path: Path
) -> None:
    if case.name not in opened:
        between.open(case)
        opened.add(case.name)
    place = Place(between.base, between.key, case.model(task), tmp_path)
    how, where = agents.AGENTS[case.client, case.dialect], programs(case.environment)
    if task == "abort":
        interrupt(between, agents.begin(how, place, where), place.model)
        assert {stream.outcome for stream in between.recorded(place.model)} <= {"client_disconnected", "completed"}
        return
    ran = agents.run(how, place, where)
    # Some also ask for a title, so four streams need not be the whole session.
    streams = between.recorded(place.model, 4, turns=3) if task == "tools" else between.recorded(place.model)
    CHECKS[task](case, ran.output, streams)


def interrupt(between: Between, process: subprocess.Popen[str], model: str) -> None:
    """Press Ctrl-C once the first stream is on record."""
    until(lambda: between.proxied.query(RUNNING, model) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=LEAVING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def did_five_steps(case: Case, output: str, streams: list[Recorded]) -> None:
    assert "Reconnecting" not in output  # Codex prints this unless its websocket is refused in the expected way
    answered(case, output, streams)
    called = " ".join(call for stream in streams for call in stream.calls)
    assert all(f"echo step {number}" in called for number in range(1, STEPS + 1))
    assert [stream.relation for stream in streams][-3:] == ["turn"] * 3


def answered(case: Case, output: str, streams: list[Recorded]) -> None:
    assert ANSWER in output, output
    assert {stream.outcome for stream in streams} == {"completed"}, streams
    assert len({stream.session for stream in streams}) == 1
    assert {(stream.input, stream.read, stream.output) for stream in streams} == {(INPUT, READ, OUTPUT)}
    assert [float(stream.cost) for stream in streams] == pytest.approx([expected_cost(case.provider)] * len(streams))


def tried_again(case: Case, output: str, streams: list[Recorded]) -> None:
    failed = [stream for stream in streams if stream.outcome == "upstream_error"]
    assert {stream.status for stream in failed} == {429}
    assert "completed" in {stream.outcome for stream in streams}, output
    assert len({stream.session for stream in streams}) == 1


def went_on(case: Case, output: str, streams: list[Recorded]) -> None:
    """An agent that asks again when an answer of its provider breaks off does so behind streamviz, too."""
    assert {stream.status for stream in streams if stream.outcome == "upstream_error"} == {200}
    assert ANSWER in output, output
    assert len({stream.session for stream in streams}) == 1


def refused(case: Case, output: str, streams: list[Recorded]) -> None:
    assert "Scripted 400." in " ".join(output.split())  # aider wraps its lines
    assert {(stream.outcome, stream.status) for stream in streams} == {("upstream_error", 400)}


CHECKS: dict[str, Callable[[Case, str, list[Recorded]], None]] = {
    "tools": did_five_steps,
    "answer": answered,
    "limited": tried_again,
    "dropped": went_on,
    "ended": went_on,
    "refused": refused,
}
