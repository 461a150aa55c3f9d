"""Vendors' SDKs, frameworks and libraries with streamviz as their provider, each on models of two vendors."""

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.clients.cases import NODE, PYTHON, Case, expected_cost
from tests.clients.conftest import Between, Recorded
from tests.clients.script import ANSWER, INPUT, OUTPUT, READ, SEEN, STEPS

DRIVERS = Path(__file__).parent / "drivers"
SECONDS = 600
CASES = [pytest.param(case, task, id=f"{case.name}-{task}") for case in PYTHON + NODE for task in case.tasks]
STATUSES = {"busy": 429, "refused": 400, "broken": 500}
COMMANDS = {f"echo step {number}" for number in range(1, STEPS + 1)}
Told = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def told(between: Between, programs: Callable[[str], Path]) -> Callable[[Case], Told]:
    """Has a client do its tasks, one after the other, once; returns its results."""

    @cache
    def run(case: Case) -> Told:
        found, models = programs(case.environment), between.open(case)
        given = json.dumps({"base": between.base, "key": between.key, "dialect": case.dialect, "models": models})
        command = [str(found / "python"), str(DRIVERS / f"{case.client}.py")]
        if case in NODE:
            # Node looks for modules next to the file that imports them.
            for driver in DRIVERS.glob("*.mjs"):
                shutil.copy(driver, found.parents[1])
            command = ["node", str(found.parents[1] / f"{case.client}.mjs")]
        done = subprocess.run([*command, given], capture_output=True, text=True, timeout=SECONDS)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"task"')]
        assert lines, done.stderr
        return {line["task"]: line for line in lines}

    return run


@pytest.mark.parametrize(("case", "task"), CASES)
def test_a_library_does_its_task(case: Case, task: str, told: Callable[[Case], Told], between: Between) -> None:
    said = told(case)[task]
    CHECKS.get(task, answered)(case, said, between.recorded(case.model(task), COUNTS.get(task, 1)))


def answered(case: Case, said: dict[str, Any], streams: list[Recorded], answer: str = ANSWER) -> None:
    assert said.get("answer") == answer, said
    assert [stream.outcome for stream in streams] == ["completed"] * len(streams)
    assert len({stream.session for stream in streams}) == 1
    for stream in streams:
        assert (stream.input, stream.read, stream.output) == (INPUT, READ, OUTPUT)
        assert float(stream.cost) == pytest.approx(expected_cost(case.provider))
        assert not stream.is_estimated


def used_tools(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    assert set(said["commands"]) == COMMANDS, said
    answered(case, said, streams)
    assert [stream.relation for stream in streams] == ["", "turn", "turn", "turn"]
    assert [len(stream.calls) for stream in streams] == [1, 2, 2, 0]


def followed(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    answered(case, said, streams)
    assert [stream.relation for stream in streams] == ["", "turn"]


def tried_again(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    first, *_ = streams
    assert (first.outcome, first.status) == ("upstream_error", 429)
    answered(case, said, streams[1:])
    assert {stream.session for stream in streams} == {first.session}


def refused(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    assert said["error"]["status"] == STATUSES[said["task"]], said
    assert {(stream.outcome, stream.status) for stream in streams} == {("upstream_error", STATUSES[said["task"]])}
    assert {stream.cost for stream in streams} == {None}


def cut_off(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    assert said["error"], said
    assert {stream.outcome for stream in streams} == {"upstream_error"}
    assert all(stream.input and stream.cost for stream in streams)


def left(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    assert said.get("answer") == "left", said
    [stream] = streams
    assert stream.outcome == "client_disconnected"
    assert stream.input
    assert stream.cost


def saw(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    answered(case, said, streams, SEEN)


def shaped(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    assert json.loads(said["answer"]) == {"city": "Bern"}
    answered(case, said, streams, said["answer"])


def counted(case: Case, said: dict[str, Any], streams: list[Recorded]) -> None:
    assert said.get("answer") == "True", said


CHECKS: dict[str, Callable[[Case, dict[str, Any], list[Recorded]], None]] = {
    "tools": used_tools,
    "chained": used_tools,
    "sequence": followed,
    "limited": tried_again,
    **dict.fromkeys(STATUSES, refused),
    "cut": cut_off,
    "abort": left,
    "picture": saw,
    "shape": shaped,
    "count": counted,
}
COUNTS = {"tools": 4, "chained": 4, "sequence": 2, "limited": 2, "count": 0}
