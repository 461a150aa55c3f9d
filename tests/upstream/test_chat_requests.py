"""Conversion of other formats' requests to chat, in which a run makes its calls."""

from typing import Any

from streamviz.core.wire import ANTHROPIC_MESSAGES
from streamviz.upstream.chat_requests import chat_of
from streamviz.upstream.fitting import fit
from streamviz.upstream.targets import Lane, Target

GPT = Target("gpt-5", "openai", ANTHROPIC_MESSAGES.name, Lane.TRANSLATED)


def test_a_run_asks_for_what_its_client_of_messages_asked_for() -> None:
    asked: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": 9,
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
    }
    chat: Any = chat_of(ANTHROPIC_MESSAGES.name, fit(GPT, asked, as_chat=True).request, GPT.model, GPT.provider)
    assert (chat["parallel_tool_calls"], chat["reasoning_effort"]) == (False, "low")
    assert chat["response_format"]["json_schema"]["schema"] == {"type": "object"}
