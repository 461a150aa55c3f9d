"""Requests as LiteLLM brings them into a provider's format: beside the event loop, where it would do that in it.

It takes a second for some thousands of messages, which all other streams would wait for.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import litellm
from litellm.llms.bedrock.chat.chat_completions.transformation import AmazonBedrockRuntimeChatCompletionsConfig
from litellm.llms.vertex_ai.gemini import transformation as googles
from openai._utils import is_given
from openai.resources import embeddings
from openai.resources.chat.completions import completions

P = ParamSpec("P")
T = TypeVar("T")

# Those who convert in the event loop, so that they could fetch what a message refers to.
_CONFIGS: tuple[type[Any], ...] = (
    litellm.AmazonAnthropicClaudeConfig,
    AmazonBedrockRuntimeChatCompletionsConfig,
    litellm.AnthropicConfig,
    litellm.IBMWatsonXAIConfig,
    litellm.OllamaConfig,
    litellm.SnowflakeConfig,
)


def _beside_the_loop(convert: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """It waits for nothing: what it would fetch is refused (`UnaskedCall`)."""

    async def converted(*args: P.args, **given: P.kwargs) -> T:
        return await asyncio.to_thread(asyncio.run, convert(*args, **given))

    return converted


async def _as_it_is(body: dict[str, object], _type: object) -> dict[str, object]:
    """OpenAI's SDK compares each message with each type that there is, for some ms, and changes nothing."""
    return {name: value for name, value in body.items() if is_given(value)}


def _may_take_long(*_: object) -> bool:
    """Whether LiteLLM converts a request for Google's models in a thread."""
    return True


def convert_beside_the_loop() -> None:
    """From now on LiteLLM does."""
    for config in _CONFIGS:
        config.async_transform_request = _beside_the_loop(config.async_transform_request)
    converse: type[Any] = litellm.AmazonConverseConfig
    converse._async_transform_request = _beside_the_loop(converse._async_transform_request)
    googles._openai_messages_may_need_sync_media_fetch = _may_take_long
    completions.async_maybe_transform = embeddings.async_maybe_transform = _as_it_is
