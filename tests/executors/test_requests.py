"""A run's requests to its model, made from its client's request."""

from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.wire.gemini_as_chat import as_chat
from streamviz.executors.reasoning.prompts import OWN
from streamviz.executors.reasoning.requests import Requests, require_answerable
from streamviz.upstream.structured import Structure

THINKING: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
EFFORT = {"reasoning_effort": "medium"}
LITTLE = {"reasoning_effort": "none"}


@pytest.mark.parametrize(
    ("asked", "tokens", "is_kept"),
    [
        *((asked, tokens, kept) for asked in (THINKING, EFFORT) for tokens, kept in ((None, True), (2049, True))),
        *((asked, tokens, False) for asked in (THINKING, EFFORT) for tokens in (2048, 50)),
        (LITTLE, 50, True),
    ],
)
def test_a_plan_has_no_room_to_think_beyond_its_tokens(
    asked: dict[str, Any], tokens: int | None, is_kept: bool
) -> None:
    """Anthropic refuses requests whose thinking budget is not below their max_tokens."""
    requests = Requests("m", {"messages": [], "max_tokens": 9000, "seed": 1, **asked}, OWN)
    requests.plan_with((), Structure.WORDS)
    plan = requests.plan(tokens)
    assert (plan.get("max_tokens"), plan["seed"]) == (tokens, 1)
    assert (asked.items() <= plan.items()) == is_kept
    assert asked.items() <= requests.answer().items()


def allowed(mode: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": "f"}}]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@pytest.mark.parametrize(
    "asked",
    [
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"tool_choice": allowed("required")},
        {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}},
        {"tool_choice": None, "function_call": {"name": "f"}},
        {"tool_choice": "auto", "function_call": {"name": "f"}},
    ],
)
def test_what_wants_a_call_of_the_clients_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="cannot be used in a run"):
        require_answerable(asked)


@pytest.mark.parametrize("choice", [None, "auto", "none", allowed("auto"), {"type": "allowed_tools", "mode": "auto"}])
def test_what_lets_the_model_choose_is_answered(choice: Any) -> None:
    require_answerable({"tool_choice": choice, "function_call": "auto"})


@pytest.mark.parametrize(
    ("mode", "is_refused"), [("ANY", True), ("AUTO", False), ("NONE", False), ("VALIDATED", False)]
)
def test_geminis_way_to_demand_a_call_is_refused(mode: str, is_refused: bool) -> None:
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    config = {"functionCallingConfig": {"mode": mode}}
    chat = as_chat({"contents": [], "tools": tools, "toolConfig": config})
    if is_refused:
        with pytest.raises(RequestError, match="cannot be used in a run"):
            require_answerable(chat)
    else:
        require_answerable(chat)
