"""Finish reasons and usage in the terms of another format."""

from typing import Any

import pytest

from streamviz.core.wire.translation import translate_reason, translate_usage

CHAT, MESSAGES, RESPONSES, GEMINI = "openai_chat", "anthropic_messages", "openai_responses", "gemini"


@pytest.mark.parametrize(
    ("source", "reason", "has_calls", "target", "want"),
    [
        (CHAT, "tool_calls", True, MESSAGES, "tool_use"),
        (CHAT, "stop", True, MESSAGES, "tool_use"),
        (CHAT, "tool_calls", False, MESSAGES, "end_turn"),
        (MESSAGES, "end_turn", True, CHAT, "tool_calls"),
        (CHAT, "length", False, RESPONSES, "incomplete"),
        (MESSAGES, "end_turn", False, CHAT, "stop"),
        (MESSAGES, "refusal", False, CHAT, "content_filter"),
        (MESSAGES, "tool_use", True, RESPONSES, "completed"),
        (RESPONSES, "completed", True, CHAT, "tool_calls"),
        (RESPONSES, "completed", False, MESSAGES, "end_turn"),
        (RESPONSES, "incomplete", False, MESSAGES, "max_tokens"),
        (GEMINI, "STOP", True, MESSAGES, "tool_use"),
        (GEMINI, "SAFETY", False, CHAT, "content_filter"),
        (GEMINI, "MAX_TOKENS", False, RESPONSES, "incomplete"),
        (GEMINI, "NEW_WORD", False, CHAT, "stop"),
        (CHAT, "new_word", True, MESSAGES, "tool_use"),
        # From Mistral, Z.ai and DeepSeek.
        (CHAT, "model_length", True, MESSAGES, "max_tokens"),
        (CHAT, "model_context_window_exceeded", False, RESPONSES, "incomplete"),
        (CHAT, "sensitive", False, MESSAGES, "refusal"),
        (CHAT, "insufficient_system_resource", True, RESPONSES, "failed"),
        (CHAT, "network_error", False, GEMINI, "OTHER"),
    ],
)
def test_a_reason_has_a_word_in_each_format(source: str, reason: str, has_calls: bool, target: str, want: str) -> None:
    assert translate_reason(reason, source, target, has_calls=has_calls) == want


def test_a_formats_own_word_is_left_alone() -> None:
    assert translate_reason("new_word", CHAT, CHAT, has_calls=True) == "new_word"


@pytest.mark.parametrize(
    ("source", "usage", "target", "want"),
    [
        (
            CHAT,
            {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
            MESSAGES,
            {"input_tokens": 6, "output_tokens": 3, "cache_read_input_tokens": 4},
        ),
        (
            MESSAGES,
            {"input_tokens": 6, "output_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 5},
            CHAT,
            {
                "prompt_tokens": 15,
                "completion_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5},
                "total_tokens": 18,
            },
        ),
        (
            CHAT,  # Anthropic's, as LiteLLM reports them
            {
                "prompt_tokens": 15,
                "completion_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_creation_tokens": 5},
            },
            MESSAGES,
            {"input_tokens": 6, "output_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 5},
        ),
        (
            GEMINI,
            {"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 6},
            RESPONSES,
            {
                "input_tokens": 1,
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 3},
                "total_tokens": 6,
            },
        ),
        (CHAT, {"completion_tokens": 3}, MESSAGES, {"output_tokens": 3}),
    ],
)
def test_usage_counts_the_same_in_each_format(source: str, usage: Any, target: str, want: Any) -> None:
    assert translate_usage(usage, source, target) == want


def test_usage_of_the_formats_own_is_left_alone() -> None:
    usage: dict[str, object] = {"prompt_tokens": 1, "cost": 0.1}
    assert translate_usage(usage, CHAT, CHAT) is usage
