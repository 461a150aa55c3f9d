"""The scenario of a coding agent: one answer per turn, from which an agent's loop can continue."""

import math

from streamviz.simulator.asked import Asked
from streamviz.simulator.request import answers_in
from streamviz.simulator.scenarios import write_script
from streamviz.simulator.steps import Finish, Thinking, ToolStart

SAID = {"role": "assistant", "content": "…"}


def tools_of(turn: int) -> list[str]:
    script = write_script(Asked("agent"), 1, 10, math.inf, turn)
    return [step.name for step in script.steps if isinstance(step, ToolStart)]


def test_each_turn_calls_its_tools_and_the_last_none() -> None:
    assert [tools_of(turn) for turn in range(8)] == [
        ["read_file", "run_shell"],
        ["search_code"],
        ["edit_file"],
        ["run_shell"],
        ["run_shell"],
        ["run_shell"],
        [],
        [],
    ]


def test_it_begins_with_thinking_and_says_why_it_ends() -> None:
    steps = write_script(Asked("agent"), 1, 10, math.inf).steps
    assert any(isinstance(step, Thinking) for step in steps)
    assert isinstance(steps[-1], Finish)


def test_answers_are_counted_in_any_format() -> None:
    assert answers_in({"messages": [{"role": "user"}, SAID, {"role": "tool"}, SAID]}) == 2
    assert answers_in({"contents": [{"role": "model"}]}) == 1
    assert answers_in({"input": "Hello"}) == 0
