"""The contents of the scenarios, read from their scripts."""

import json
import math
from itertools import pairwise

import pytest

from streamviz.simulator.asked import Asked
from streamviz.simulator.errors import ProviderError
from streamviz.simulator.scenarios import SCENARIOS, listing, write_script
from streamviz.simulator.steps import Content, Script, ToolPiece, ToolStart, WholeTools, fold


def script(scenario: str, seed: int = 1, **options: float) -> Script:
    return write_script(Asked(scenario, **options), seed, 10, math.inf)


def spoken(scenario: str, seed: int = 1) -> str:
    return "".join(part.text for part in fold(script(scenario, seed).steps) if part.kind == "content")


@pytest.mark.parametrize(
    "scenario", [name for name in SCENARIOS if name == "error-midstream" or not name.startswith("error-")]
)
def test_a_seed_settles_the_whole_script(scenario: str) -> None:
    assert script(scenario, 5) == script(scenario, 5)


def test_seeds_choose_what_is_said() -> None:
    assert len({spoken("content", seed) for seed in range(30)}) > 4


def test_chunks_are_the_number_of_content_pieces() -> None:
    pieces = [step for step in script("content", chunks=777).steps if isinstance(step, Content)]
    assert len(pieces) == 777


def test_the_scenario_big_has_three_thousand_chunks() -> None:
    assert sum(isinstance(step, Content) for step in script("big").steps) == 3000


@pytest.mark.parametrize("scenario", ["tools", "parallel-tools", "dangerous", "dangerous-parallel", "hostile"])
def test_tool_arguments_are_json_in_several_pieces(scenario: str) -> None:
    steps = script(scenario).steps
    assert sum(isinstance(step, ToolPiece) for step in steps) > 3
    for part in fold(steps):
        if part.kind == "tool":
            assert isinstance(json.loads(part.text), dict)


def test_the_scenario_tools_has_no_content() -> None:
    assert {part.kind for part in fold(script("tools").steps)} == {"tool"}


def test_parallel_tools_are_interleaved() -> None:
    calls = [step.call for step in script("parallel-tools").steps if isinstance(step, (ToolStart, ToolPiece))]
    changes = sum(a != b for a, b in pairwise(calls))
    assert changes > len(set(calls))


@pytest.mark.parametrize("scenario", ["dangerous", "dangerous-parallel", "two-calls-one-chunk"])
def test_the_dangerous_call_is_split_but_whole(scenario: str) -> None:
    [call] = [part for part in fold(script(scenario).steps) if part.name == "run_shell"]
    assert json.loads(call.text)["command"] == "rm -rf /srv/data"
    assert not any(isinstance(step, ToolPiece) and "rm -rf" in step.arguments for step in script(scenario).steps)


def test_the_secrets_are_split_between_chunks() -> None:
    whole = spoken("secret")
    assert "AKIA" in whole
    assert "sk-" in whole
    longest = max(len(step.text) for step in script("secret").steps if isinstance(step, Content))
    assert longest < len("AKIA") + 16


def test_two_calls_come_in_one_step() -> None:
    [step] = [step for step in script("two-calls-one-chunk").steps if isinstance(step, WholeTools)]
    assert [name for _, name, _ in step.calls] == ["read_file", "run_shell"]


@pytest.mark.parametrize(("scenario", "status"), [(f"error-{status}", status) for status in (400, 401, 429, 500)])
def test_an_error_scenario_is_an_error(scenario: str, status: int) -> None:
    with pytest.raises(ProviderError) as raised:
        script(scenario)
    assert raised.value.status == status


def test_an_unknown_scenario_is_not_found() -> None:
    with pytest.raises(ProviderError) as raised:
        script("gpt-4o")
    assert raised.value.status == 404


def test_the_listing_describes_each_scenario_in_a_line() -> None:
    assert listing().keys() == SCENARIOS.keys()
    assert all(line and "\n" not in line for line in listing().values())


def test_delays_are_realistic_and_scaled_by_speed() -> None:
    real = write_script(Asked("content"), 3, 10, 1.0)
    seconds = sum(step.delay for step in real.steps)
    assert 25 < real.output_tokens / seconds < 65
    fast = write_script(Asked("content"), 3, 10, 10.0)
    assert sum(step.delay for step in fast.steps) == pytest.approx(seconds / 10)


@pytest.mark.parametrize("scenario", ["thinking", "content-tools-empty", "secret"])
def test_the_speed_changes_nothing_of_what_is_said(scenario: str) -> None:
    assert fold(write_script(Asked(scenario), 3, 10, 1.0).steps) == fold(script(scenario, 3).steps)


def test_the_model_name_wins_over_the_servers_speed() -> None:
    assert sum(step.delay for step in write_script(Asked("content", speed=math.inf), 3, 10, 1.0).steps) == 0


def test_a_stall_lasts_thirty_seconds_or_what_the_name_says() -> None:
    assert max(step.delay for step in write_script(Asked("stall"), 3, 10, 1.0).steps) == 30
    assert max(step.delay for step in write_script(Asked("stall"), 3, 10, 10.0).steps) == 3
    assert max(step.delay for step in script("stall", seconds=7).steps) == 7


def test_pace_is_exact() -> None:
    delays = {step.delay for step in script("content", pace=20).steps}
    assert delays == {0.02}
