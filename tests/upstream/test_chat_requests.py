"""Conversion of other formats' requests to chat, in which a run makes its calls."""

from typing import Any

from streamviz.core.wire import ANTHROPIC_MESSAGES
from streamviz.upstream.fitting import fit
from streamviz.upstream.formats import translated_format
from streamviz.upstream.targets import Lane, Target

GPT = Target("gpt-5", "openai", ANTHROPIC_MESSAGES.name, Lane.TRANSLATED)
as_chat = translated_format(GPT).as_chat


def test_a_run_asks_for_what_its_client_of_messages_asked_for() -> None:
    asked: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Hello"}],
        "max_tokens": 9,
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
    }
    chat: Any = as_chat(GPT, fit(GPT, asked, as_chat=True).request)
    assert (chat["parallel_tool_calls"], chat["reasoning_effort"]) == (False, "low")
    assert chat["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_an_answer_that_was_nothing_but_thinking_is_left_out() -> None:
    """For example one that was stopped while the model was thinking. OpenAI refuses an answer with neither text nor
    calls."""
    thinking: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "I look.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2ln"},
    ]
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    answers = [[thinking[0]], [thinking[1]], [{"type": "text", "text": ""}], [*thinking, call]]
    told = [
        {"role": role, "content": said} for answer in answers for role, said in (("user", "Hi"), ("assistant", answer))
    ]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Nothing."}]}
    asked: dict[str, Any] = {"max_tokens": 9, "messages": [*told, result]}
    chat: Any = as_chat(GPT, fit(GPT, asked, as_chat=True).request)
    assert [message["role"] for message in chat["messages"]] == [*["user"] * 4, "assistant", "tool"]
