"""What a run asks its model, from what its client asked."""

from typing import Any

import pytest

from streamviz.executors.reasoning.prompts import OWN
from streamviz.executors.reasoning.requests import Requests
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
    """Anthropic refuses to think for as many tokens as it may write."""
    requests = Requests("m", {"messages": [], "max_tokens": 9000, "seed": 1, **asked}, OWN)
    requests.plan_with((), Structure.WORDS)
    plan = requests.plan(tokens)
    assert (plan.get("max_tokens"), plan["seed"]) == (tokens, 1)
    assert (asked.items() <= plan.items()) == is_kept
    assert asked.items() <= requests.answer().items()
