"""A turn with very many calls is refused before LiteLLM searches all of them for each result."""

from collections.abc import Callable
from typing import Any

import pytest

from streamviz.core.errors import RequestError
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, WIRE_FORMATS
from streamviz.upstream.fitting import fit
from streamviz.upstream.targets import Lane, Target

MOST = 256
FUNCTION = {"name": "f", "arguments": "{}"}


def chat(ids: list[str]) -> list[Any]:
    calls = [{"id": id, "type": "function", "function": FUNCTION} for id in ids]
    results = [{"role": "tool", "tool_call_id": id, "content": "r"} for id in ids]
    return [{"role": "assistant", "tool_calls": calls}, *results]


def messages(ids: list[str]) -> list[Any]:
    calls = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids]
    results = [{"type": "tool_result", "tool_use_id": id, "content": "r"} for id in ids]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


def items(ids: list[str]) -> list[Any]:
    calls = [{"type": "function_call", "call_id": id, **FUNCTION} for id in ids]
    results = [{"type": "function_call_output", "call_id": id, "output": "r"} for id in ids]
    return [*calls[:9], {"type": "reasoning", "summary": []}, *calls[9:], *results]


def contents(ids: list[str]) -> list[Any]:
    calls = [{"functionCall": {"name": "f", "id": id, "args": {}}} for id in ids]
    results = [{"functionResponse": {"name": "f", "id": id, "response": {}}} for id in ids]
    return [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]


SAID: dict[str, tuple[str, Callable[[list[str]], list[Any]]]] = {
    OPENAI_CHAT.name: ("gemini", chat),
    ANTHROPIC_MESSAGES.name: ("gemini", messages),
    OPENAI_RESPONSES.name: ("gemini", items),
    GEMINI.name: ("mistral", contents),
}


def fitted(of: str, *turns: list[str]) -> None:
    provider, said = SAID[of]
    told = [item for ids in turns for item in said(ids)]
    fit(Target("m", provider, of, Lane.TRANSLATED), {"model": "any", WIRE_FORMATS[of].turns: told})


@pytest.mark.parametrize("of", SAID)
def test_more_calls_in_a_turn_than_any_model_makes_are_refused(of: str) -> None:
    with pytest.raises(RequestError, match="more than 256 calls") as refused:
        fitted(of, [f"call_{at}" for at in range(MOST + 1)])
    assert (refused.value.status, refused.value.code) == (413, "too_large")


@pytest.mark.parametrize("of", SAID)
def test_a_long_conversation_has_as_many_in_all(of: str) -> None:
    fitted(of, *[[f"call_{turn}_{at}" for at in range(MOST // 4)] for turn in range(8)])
