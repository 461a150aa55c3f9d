"""Coding agents under policies: calls that are denied or held for a person, and requests that are denied or held."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clients import agents
from tests.clients.agents import Place, Prepare, Ran
from tests.clients.cases import VENDORS, Case
from tests.clients.conftest import Between, decided
from tests.clients.script import ANSWER, SHELLS, STEPS
from tests.e2e.proxied import until
from tests.e2e.test_policies import Guarded, judging

Programs = Callable[[str], Path]
CLIENTS = [("claude_code", "messages"), ("codex", "responses"), ("opencode", "chat"), ("gemini_cli", "gemini")]


def case_of(between: Between, client: str, dialect: str, task: str) -> Case:
    """The case, once its model can be called."""
    case = Case(client, "agents", dialect, VENDORS[dialect], (task,))
    between.open(case)
    return case


@pytest.mark.parametrize("decision", ["", "deny", "allow"], ids=["denied", "held and denied", "held and allowed"])
@pytest.mark.parametrize(("client", "dialect"), CLIENTS)
def test_a_call_is_judged(
    client: str, dialect: str, decision: str, between: Between, guarded: Guarded, programs: Programs, tmp_path: Path
) -> None:
    task = f"judged-{decision}"
    model = case_of(between, client, dialect, task).model(task)
    by_hand = "deny" if decision else ""
    guarded.add("tool_rule", {"names": list(SHELLS)}, by_hand=by_hand, by_hand_seconds=600, models_scope=model)
    place = Place(between.base, between.key, model, tmp_path)
    with ThreadPoolExecutor(1) as others:
        running = others.submit(agents.run, agents.AGENTS[client, dialect], place, programs("agents"))
        if decision:
            person_decides(guarded, model, decision, running)
        ran = running.result()
    until(lambda: any(stream.calls for stream in between.recorded(model)))  # opencode also asks for a title
    streams = between.recorded(model)
    assert {stream.outcome for stream in streams} == {"completed"}
    asked = [call for stream in streams for call in stream.calls]
    if decision == "allow":
        assert ANSWER in ran.output
        assert len(asked) == STEPS
    else:
        assert "[Denied by policy" in ran.output
        assert len(asked) == 1


def person_decides(guarded: Guarded, model: str, decision: str, running: "Future[Ran]") -> None:
    """Make this decision on everything that waits for a person, until the agent is done."""

    def look() -> bool:
        decided(guarded, model, decision)
        return running.done()

    until(look, seconds=agents.SECONDS)


@pytest.mark.parametrize("way", ["at-once", "late"])
def test_codex_asks_once_what_is_denied(
    way: str, between: Between, guarded: Guarded, programs: Programs, tmp_path: Path
) -> None:
    model = case_of(between, "codex", "responses", way).model(way)
    if way == "late":
        guarded.add("llm_judge", judging(0.9, 7, on=["request"]), models_scope=model)
    else:
        guarded.add("request_rule", {"patterns": [{"pattern": agents.PROMPT}]}, models_scope=model)
    ran = agents.run(agents.codex, Place(between.base, between.key, model, tmp_path), programs("agents"))
    assert "The request was denied by policy" in ran.output
    assert "Reconnecting" not in ran.output
    told = 200 if way == "late" else 400  # a keep-alive had begun the answer
    assert [(stream.outcome, stream.status) for stream in between.recorded(model)] == [("halted", told)]


def test_codex_asks_once_what_is_halted(between: Between, guarded: Guarded, programs: Programs, tmp_path: Path) -> None:
    model = case_of(between, "codex", "responses", "halted").model("halted")
    guarded.add("text_rule", {"patterns": ["steps are"], "action": "halt"}, models_scope=model)
    ran = agents.run(agents.codex, Place(between.base, between.key, model, tmp_path), programs("agents"))
    assert "All five " in ran.output.partition("[Halted by policy")[0]
    assert "Reconnecting" not in ran.output
    assert [stream.outcome for stream in between.recorded(model, 4)].count("halted") == 1


def test_gemini_cli_asks_once_what_is_denied_amid_the_stream(
    between: Between, guarded: Guarded, programs: Programs, tmp_path: Path
) -> None:
    model = case_of(between, "gemini_cli", "gemini", "late").model("late")
    guarded.add("llm_judge", judging(0.9, 7, on=["request"]), models_scope=model)
    ran = agents.run(agents.gemini_cli, Place(between.base, between.key, model, tmp_path), programs("agents"))
    assert "The request was denied by policy" in ran.output
    assert [(stream.outcome, stream.status) for stream in between.recorded(model)] == [("halted", 200)]


def test_copilot_asks_once_what_is_denied_amid_the_stream(
    between: Between, guarded: Guarded, programs: Programs, tmp_path: Path
) -> None:
    model = case_of(between, "copilot_cli", "chat", "late").model("late")
    guarded.add("llm_judge", judging(0.9, 7, on=["request"]), models_scope=model)
    ran = agents.run(agents.copilot_cli, Place(between.base, between.key, model, tmp_path), programs("other_agents"))
    assert "The request was denied by policy" in ran.output
    assert [(stream.outcome, stream.status) for stream in between.recorded(model)] == [("halted", 200)]


def test_codex_waits_for_a_request_that_is_held_for_longer_than_it_waits_for_events(
    between: Between, guarded: Guarded, programs: Programs, tmp_path: Path
) -> None:
    model = case_of(between, "codex", "responses", "waits").model("waits")
    guarded.add("llm_judge", judging(0.1, 8, on=["request"]), models_scope=model)
    place = Place(between.base, between.key, model, tmp_path)
    ran = agents.run(waiting_for(6_000), place, programs("agents"))
    assert ANSWER in ran.output
    assert "Reconnecting" not in ran.output


def waiting_for(idle_ms: int) -> Prepare:
    """Codex, set to give up on a stream after this long without an event."""

    def prepare(place: Place, prompt: str) -> tuple[list[str], dict[str, str]]:
        made = agents.codex(place, prompt)
        settings = place.home / ".codex/config.toml"
        settings.write_text(f"{settings.read_text()}stream_idle_timeout_ms = {idle_ms}\n")
        return made

    return prepare
