"""How a chat call ended, in provider-specific places: what it used, and what went wrong."""

import json
from typing import Any

import pytest

from streamviz.core.events import StreamFailed
from streamviz.core.json_value import JsonObject
from streamviz.policies import build
from tests.core.support import Run, active, aggregate, call, calls, delta, deny_names, parse, run

USAGE = {"prompt_tokens": 19, "completion_tokens": 13, "total_tokens": 32}


def in_choice(payload: Any, **members: object) -> JsonObject:
    """A chunk with additional members in its choice."""
    payload["choices"][0] |= members
    told: JsonObject = payload
    return told


def test_moonshots_usage_is_a_choices() -> None:
    end = in_choice(delta(finish="stop"), usage=USAGE)
    assert aggregate(delta(content="a"), end).usage == USAGE
    own = {"choices": [], "usage": {**USAGE, "cached_tokens": 4}}
    assert aggregate(delta(content="a"), own, end).usage == own["usage"]


@pytest.mark.parametrize(
    ("told", "want"),
    [
        # vLLM, Mistral and LMDeploy.
        (
            {"object": "error", "message": "overloaded", "type": "server_error", "code": 503},
            StreamFailed("overloaded", "server_error", "503"),
        ),
        # OpenRouter.
        (
            in_choice(delta(content="", finish="error"), error={"code": 502, "message": "overloaded"}),
            StreamFailed("overloaded", "", "502"),
        ),
        # Groq.
        ({**delta(finish="stop"), "x_groq": {"id": "req_1", "error": "overloaded"}}, StreamFailed("overloaded")),
        # MiniMax.
        (
            {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
            StreamFailed("insufficient balance", "", "1008"),
        ),
    ],
)
def test_an_error_is_one_wherever_it_is(told: JsonObject, want: StreamFailed) -> None:
    assert aggregate(delta(content="a"), told, "[DONE]").failure == want
    assert aggregate(told).failure == want


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource", "network_error"])
def test_a_provider_that_ends_an_answer_because_it_failed_says_so(reason: str) -> None:
    failure = aggregate(delta(content="a"), delta(finish=reason), "[DONE]").failure
    assert failure == StreamFailed(f"the provider ended the answer: {reason}", "", reason)
    told = {"error": {"message": "overloaded"}}
    assert aggregate(told, delta(finish=reason)).failure == StreamFailed("overloaded")


@pytest.mark.parametrize(
    "told",
    [
        {**delta(finish="stop"), "base_resp": {"status_code": 0, "status_msg": ""}},
        {**delta(finish="stop"), "x_groq": {"id": "req_1", "error": None}},
        in_choice(delta(finish="stop"), error=None),
        delta(finish="eos_token"),
    ],
)
def test_what_says_that_all_went_well_is_no_error(told: JsonObject) -> None:
    assert aggregate(delta(content="a"), told).failure is None


async def test_usage_of_a_choice_goes_out_where_a_policy_denied_its_call() -> None:
    end = in_choice(delta(finish="tool_calls"), usage=USAGE)
    sent = await run([active(deny_names("rm"))], calls(call(0, "x", "rm", "{}")), end, "[DONE]")
    assert sent.client_state.usage == USAGE
    assert sent.client_state.finish_reason == "stop"


@pytest.mark.parametrize("code", [0, "0", "", None])
def test_minimax_says_with_each_answer_that_nothing_went_wrong(code: object) -> None:
    told = {**delta(content="a", finish="stop"), "base_resp": {"status_code": code, "status_msg": "success"}}
    assert aggregate(told, "[DONE]").failure is None


async def test_an_error_does_not_quote_the_answer_that_comes_with_it() -> None:
    said = {"choices": [{"index": 0, "delta": {"content": "my key"}}], "code": 500}
    made = Run([active(build("text_rule", {"patterns": ["my key"]}))])
    await made.finish(parse(f"event: error\ndata: {json.dumps(said)}\n\n".encode()))
    assert b"[removed]" in made.tape
    assert b"my key" not in made.tape
    assert made.context.state.failure == StreamFailed('{"code":500}', "", "500")
