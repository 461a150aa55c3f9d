"""Runs: read by the vendors' SDKs for Python and Node, and with third-party MCP servers as tools."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.cases import expected_cost
from tests.clients.conftest import Between, decide
from tests.clients.script import ANSWER, INPUT, OUTPUT
from tests.clients.test_libraries import DRIVERS, SECONDS
from tests.e2e.proxied import MESSAGES, until
from tests.e2e.test_policies import Guarded
from tests.services import ROOT, Program, clean_environment, free_port

ROUTE = """
INSERT INTO records_route (name, target, base_url, credential, executor, parameters)
VALUES (%s, 'openai/gpt-5', %s, '', 'reasoning', %s)
"""
SERVER = """
INSERT INTO records_mcpserver (name, command, url, variables, credential, tools, is_enabled)
VALUES (%s, %s, %s, '', '', '*', true)
"""
# Usage has the fields of the client's format; Anthropic counts cache reads separately.
RUNS = """
SELECT id, outcome, cost,
    coalesce((usage->>'prompt_tokens')::int,
             (usage->>'input_tokens')::int + coalesce((usage->>'cache_read_input_tokens')::int, 0)),
    coalesce(usage->>'completion_tokens', usage->>'output_tokens')::int
FROM records_stream WHERE requested_model = %s AND relation <> 'step' ORDER BY requested_at
"""
CALLS = """
SELECT part, outcome, cost, convert_from(request, 'UTF8') FROM records_stream WHERE parent = %s ORDER BY requested_at
"""
OF_SESSION = """
SELECT sum(cost), count(*) FROM records_stream
WHERE session_id = (SELECT id FROM records_session WHERE name = %s) AND outcome <> ''
"""
# A stream, and a whole answer.
TASKS = ("answer", "whole")
PARTS = ("plan 1", "tools 1", "plan 2", "answer")
# Clients, each with a dialect and the environment that it is in.
READERS = [
    ("openai_sdk", "chat", "sdks"),
    ("openai_sdk", "responses", "sdks"),
    ("anthropic_sdk", "messages", "sdks"),
    ("openai_node", "chat", "node"),
    ("openai_node", "responses", "node"),
    ("anthropic_node", "messages", "node"),
]


def step(*uses: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A step of a plan, which uses tools or is the last."""
    told = [{"name": name, "arguments": json.dumps(given), "reason": ""} for name, given in uses]
    action = "use_tools" if uses else "finished"
    return {"thought": "Hm.", "next_action": action, "tools_to_use": told, "concurrent_execution": True}


ENTITY = {"name": "stream", "entityType": "thing", "observations": ["It flows."]}
COUNT = ("count_words", {"text": "one two three"})
PLANS = {f"run-of-{count}": [step(COUNT, COUNT)] * (count - 1) + [step()] for count in (1, 3, 10)}
JUDGED = "judged-run"
PLANS["troubled-run"] = [step(COUNT, ("count_words", {}), ("rm_rf", {}), ("wait", {"seconds": 3600})), step()]


@dataclass(frozen=True)
class Planning:
    """streamviz in front of a model that plans."""

    between: Between
    port: int
    folder: Path

    def open(self, name: str, plan: list[dict[str, Any]], **parameters: object) -> None:
        """Create a model with this plan, and wait until it can be called."""
        (self.folder / f"{name}.json").write_text(json.dumps(plan))
        self.between.proxied.query(ROUTE, name, f"http://127.0.0.1:{self.port}/{name}/v1", json.dumps(parameters))
        until(lambda: name in {model.id for model in self.between.proxied.sdk.models.list()})

    def recorded(self, name: str, count: int) -> list[tuple[Any, ...]]:
        """The runs of a model, once `count` of them are over."""

        def look() -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = self.between.proxied.query(RUNS, name)
            return rows if len(rows) >= count and all(row[1] for row in rows) else []

        found: list[tuple[Any, ...]] = until(look)
        return found


@pytest.fixture(scope="module")
def planning(between: Between, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planning]:
    port, folder = free_port(), tmp_path_factory.mktemp("plans")
    planner = Program([sys.executable, "-m", "tests.clients.planner", str(port), str(folder)], clean_environment())
    try:
        yield Planning(between, port, folder)
    finally:
        planner.process.terminate()
        planner.wait()


@pytest.fixture(scope="module")
def planned(planning: Planning) -> Planning:
    """With a model for each of the plans."""
    for name, plan in PLANS.items():
        planning.open(name, plan, tool_seconds=1)
    return planning


@pytest.mark.parametrize(("driver", "dialect", "environment"), READERS)
def test_sdks_read_runs_whole_and_as_streams(
    planned: Planning, programs: Callable[[str], Path], driver: str, dialect: str, environment: str
) -> None:
    before = {name: len(planned.between.proxied.query(RUNS, name)) for name in PLANS}
    for task in TASKS:
        for name in PLANS:
            assert read(planned.between, programs(environment), driver, dialect, task, name) == ANSWER
    for name, plan in PLANS.items():
        for id, outcome, cost, asked, answered in planned.recorded(name, before[name] + 2)[before[name] :]:
            calls = planned.between.proxied.query(CALLS, id)
            models = [call for call in calls if not call[0].startswith("tools ")]
            assert [call[0] for call in models] == [*(f"plan {n + 1}" for n in range(len(plan))), "answer"]
            assert (outcome, asked, answered) == ("completed", len(models) * INPUT, len(models) * OUTPUT)
            assert cost is None
            assert [float(call[2]) for call in models] == pytest.approx([expected_cost("openai")] * len(models))


@pytest.mark.parametrize("way", ["denied", "held and allowed", "held and denied"])
def test_sdks_read_runs_whose_tool_is_judged(
    planned: Planning, programs: Callable[[str], Path], guarded: Guarded, way: str
) -> None:
    if way == "denied":
        planned.open(JUDGED, [step(COUNT), step()])
    by_hand = "" if way == "denied" else "deny"
    guarded.add("tool_rule", {"names": ["count_words"]}, by_hand=by_hand, by_hand_seconds=600, models_scope=JUDGED)
    before = len(planned.between.proxied.query(RUNS, JUDGED))
    readings = [(*each, task) for each in READERS for task in TASKS]
    found = {environment: programs(environment) for environment in ("sdks", "node")}
    with ThreadPoolExecutor(len(readings)) as others:
        reading = [
            others.submit(read, planned.between, found[environment], driver, dialect, task, JUDGED)
            for driver, dialect, environment, task in readings
        ]
        if by_hand:
            decide(guarded, JUDGED, "allow" if way == "held and allowed" else "deny", len(readings))
        assert [each.result() for each in reading] == [ANSWER] * len(readings)
    heard = "Result of count_words" if way == "held and allowed" else "Error of count_words"
    for id, outcome, _, asked, answered in planned.recorded(JUDGED, before + len(readings))[before:]:
        calls = planned.between.proxied.query(CALLS, id)
        assert [call[:2] for call in calls] == [(part, "completed") for part in PARTS]
        assert json.loads(calls[2][3])["messages"][-1]["content"].startswith(heard)
        assert (outcome, asked, answered) == ("completed", 3 * INPUT, 3 * OUTPUT)


def read(between: Between, found: Path, driver: str, dialect: str, task: str, model: str) -> Any:
    """What a client makes of a run."""
    given = json.dumps({"base": between.base, "key": between.key, "dialect": dialect, "models": {task: model}})
    command = [str(found / "python"), str(DRIVERS / f"{driver}.py")]
    if driver.endswith("_node"):
        for each in DRIVERS.glob("*.mjs"):
            shutil.copy(each, found.parents[1])
        command = ["node", str(found.parents[1] / f"{driver}.mjs")]
    done = subprocess.run([*command, given], capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    return told.get("answer", told)


@pytest.fixture(scope="module")
def strangers(planning: Planning, programs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Third-party servers, and one that does everything wrong; gives the folder that one of them may read."""
    folder, port = tmp_path_factory.mktemp("files"), free_port()
    (folder / "note.txt").write_text("Nothing is as it seems.")
    python, node = programs("mcp"), programs("mcp_node")
    command = [str(node / "mcp-server-everything"), "streamableHttp"]
    everything = Program(command, clean_environment(PORT=str(port)))
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    commands = {
        "time": str(python / "mcp-server-time"),
        "git": str(python / "mcp-server-git"),
        "memory": f"env MEMORY_FILE_PATH={folder / 'memory'} {node / 'mcp-server-memory'}",
        "files": f"{node / 'mcp-server-filesystem'} {folder}",
        "plain": f"{sys.executable} -I {ROOT / 'tests/executors/plain_server.py'}",
    }
    for name, command_line in commands.items():
        planning.between.proxied.query(SERVER, name, command_line, "")
    planning.between.proxied.query(SERVER, "everything", "", f"http://127.0.0.1:{port}/mcp")
    everything.wait_for("listening")
    yield folder
    everything.process.terminate()
    everything.wait()


def test_strangers_servers_are_tools_and_what_one_does_is_an_error_of_its_call(
    planning: Planning, strangers: Path
) -> None:
    note = strangers / "process"
    os.mkfifo(note)
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    plan = [
        step(
            ("mcp__time__convert_time", noon),
            ("mcp__files__read_text_file", {"path": str(strangers / "note.txt")}),
            ("mcp__git__git_status", {"repo_path": str(strangers)}),
            ("mcp__everything__get-sum", {"a": 19, "b": 23}),
            ("mcp__memory__create_entities", {"entities": [ENTITY]}),
            ("mcp__plain__garbage", {}),
            ("mcp__plain__long", {"bytes": 50_000_000}),
            ("mcp__everything__trigger-long-running-operation", {"duration": 600}),
        ),
        step(("mcp__plain__hang", {"file": str(note)}), ("mcp__time__convert_time", noon)),
        step(
            ("mcp__plain__add", {"a": 1, "b": 2}),
            ("mcp__everything__get-sum", {"a": 1, "b": 2}),
            ("mcp__memory__search_nodes", {"query": "stream"}),
        ),
        step(),
    ]
    planning.open("strangers", plan, tools=["mcp__*"], tool_seconds=30)
    with ThreadPoolExecutor() as others:
        asking = others.submit(planning.between.proxied.post, {"model": "strangers", "messages": MESSAGES})
        os.kill(int(note.read_text()), signal.SIGKILL)
        answer = asking.result()
    assert json.loads(answer.body)["choices"][0]["message"]["content"] == ANSWER
    [(id, outcome, *_)] = planning.recorded("strangers", 1)
    calls = {part: request for part, _, _, request in planning.between.proxied.query(CALLS, id)}
    heard = [json.loads(calls[f"plan {n}"])["messages"][-1]["content"].split("\n\n") for n in (2, 3, 4)]
    assert outcome == "completed"
    [first, second, third] = [["Error" if each.startswith("Error") else each for each in told] for told in heard]
    assert "T21:00" in first[0]
    assert first[1].endswith("Nothing is as it seems.")
    assert "No commits yet" in "".join(first)
    assert any(each.endswith("42.") for each in first)
    assert first[-3:] == ["Result of mcp__plain__garbage({}):\ndone", "Error", "Error"]
    assert (second[0], "T21:00" in second[1]) == ("Error", True)
    assert (third[0], third[1][-2:]) == ("Error", "3.")
    assert "It flows." in "".join(third)


def test_the_sum_of_costs_is_that_of_the_session(planned: Planning) -> None:
    planned.between.proxied.post({"model": "run-of-3", "messages": MESSAGES}, x_session_id="summed")
    until(lambda: planned.between.proxied.query(OF_SESSION, "summed")[0][1] == 7)
    assert float(planned.between.proxied.query(OF_SESSION, "summed")[0][0]) == pytest.approx(
        4 * expected_cost("openai")
    )
