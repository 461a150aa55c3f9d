"""What a provider of another format gets of a request: what it can take; the rest is named, or refused."""

from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.upstream.fitting import Fitted, fit
from streamviz.upstream.targets import Lane, Target

MESSAGES: Any = [{"role": "user", "content": "Hello"}]
GPT = ("openai", "gpt-5")
CLAUDE = ("anthropic", "claude-sonnet-4-5")


def fitted(of: WireFormat, at: tuple[str, str], **more: Any) -> Fitted:
    provider, model = at
    said = {of.turns: MESSAGES, **more}
    return fit(Target(model, provider, of.name, Lane.TRANSLATED), {"model": "any", **said})


def test_a_claude_code_request_for_an_openai_model() -> None:
    request, left_out = fitted(
        ANTHROPIC_MESSAGES,
        GPT,
        max_tokens=32_000,
        thinking={"type": "adaptive"},
        output_config={"effort": "max"},
        context_management={"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        metadata={"user_id": "somebody"},
        stream=True,
    )
    assert request == {"messages": MESSAGES, "max_tokens": 32_000, "reasoning_effort": "high", "stream": True}
    assert left_out == ("context_management", "thinking")


def test_a_codex_request_for_an_anthropic_model() -> None:
    shell = {"type": "function", "name": "exec_command", "parameters": {"type": "object"}}
    request, left_out = fitted(
        OPENAI_RESPONSES,
        CLAUDE,
        tools=[shell, {"type": "web_search"}, {"type": "namespace", "name": "agents", "tools": []}],
        reasoning={"effort": "medium", "summary": "auto"},
        text={"verbosity": "low"},
        include=["reasoning.encrypted_content"],
        store=False,
        prompt_cache_key="a-key",
        client_metadata={"session_id": "s"},
    )
    assert request == {"input": MESSAGES, "tools": [shell], "reasoning": {"effort": "medium"}}
    assert set(left_out) == {
        *("store", "prompt_cache_key", "client_metadata", "text.verbosity", "reasoning.summary"),
        *("include: reasoning.encrypted_content", "tool web_search", "tool agents"),
    }


def test_a_turn_whose_thinking_nobody_kept_goes_on_without() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c", "output": "nothing"}
    given = [*MESSAGES, call, result]
    assert fitted(OPENAI_RESPONSES, CLAUDE, input=given, reasoning={"effort": "low"}) == (
        {"input": given},
        ("reasoning.effort",),
    )
    again = [*given, *MESSAGES]
    request, left_out = fitted(OPENAI_RESPONSES, CLAUDE, input=again, reasoning={"effort": "low"})
    assert (request["reasoning"], left_out) == ({"effort": "low"}, ())


def test_what_a_chat_client_sends_by_habit_is_no_hindrance() -> None:
    habits: dict[str, Any] = {
        "presence_penalty": 0,
        "frequency_penalty": 0.0,
        "logit_bias": {},
        "logprobs": False,
        "n": 1,
        "seed": 7,
        "store": False,
        "verbosity": "low",
        "prompt_cache_key": "k",
        "top_logprobs": None,
        "user": "u",
        "temperature": 0.2,
    }
    request, left_out = fitted(OPENAI_CHAT, CLAUDE, **habits)
    assert request == {"messages": MESSAGES, "user": "u", "temperature": 0.2}
    assert set(left_out) == {"seed", "store", "verbosity", "prompt_cache_key"}


@pytest.mark.parametrize(
    ("of", "at", "name", "value"),
    [
        (OPENAI_CHAT, CLAUDE, "presence_penalty", 0.5),
        (OPENAI_CHAT, CLAUDE, "logprobs", True),
        (OPENAI_CHAT, CLAUDE, "n", 2),
        (OPENAI_CHAT, CLAUDE, "no_such_parameter", 1),
        (OPENAI_RESPONSES, CLAUDE, "previous_response_id", "resp_1"),
        (OPENAI_RESPONSES, CLAUDE, "background", True),
        (OPENAI_RESPONSES, CLAUDE, "include", ["message.output_text.logprobs"]),
        (OPENAI_RESPONSES, CLAUDE, "conversation", "conv_1"),
        (ANTHROPIC_MESSAGES, GPT, "mcp_servers", [{"type": "url"}]),
        (ANTHROPIC_MESSAGES, GPT, "container", "c_1"),
    ],
)
def test_what_would_change_the_answer_is_refused_by_name(
    of: WireFormat, at: tuple[str, str], name: str, value: Any
) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(of, at, **{name: value})
    assert (raised.value.status, raised.value.param, raised.value.code) == (400, name, "unsupported_parameter")
    assert f"speaks {of.name}" in raised.value.message


def test_where_the_provider_speaks_the_format_nothing_is_left_out() -> None:
    request, left_out = fitted(
        ANTHROPIC_MESSAGES, ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"), thinking={}
    )
    assert (request, left_out) == ({"messages": MESSAGES, "thinking": {}}, ())


@pytest.mark.parametrize("choice", ["required", {"type": "web_search"}])
def test_a_tool_that_the_answer_must_use_is_not_left_out(choice: Any) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(OPENAI_RESPONSES, CLAUDE, tools=[{"type": "web_search"}], tool_choice=choice)
    assert (raised.value.status, raised.value.param) == (400, "tool_choice")


@pytest.mark.parametrize("odd", [{"a": 1}, ["b"], 5])
def test_odd_members_of_a_list_are_refused_by_name(odd: Any) -> None:
    with pytest.raises(RequestError) as raised:
        fitted(OPENAI_RESPONSES, CLAUDE, include=[odd])
    assert (raised.value.status, raised.value.param) == (400, "include")


def test_long_names_that_are_left_out_are_kept_short() -> None:
    _, left_out = fitted(OPENAI_RESPONSES, CLAUDE, tools=[{"type": "namespace", "name": "x" * 10_000}] * 1_000)
    assert len(", ".join(left_out)) < 300
