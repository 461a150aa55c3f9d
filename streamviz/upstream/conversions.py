"""LiteLLM's conversions of requests into a provider's format, in threads: it does some of them in the event loop.

Some thousands of messages take it a second, in which all other streams would wait.
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

# These convert in the event loop, as they may fetch what a message refers to.
_CONFIGS: tuple[type[Any], ...] = (
    litellm.AmazonAnthropicClaudeConfig,
    AmazonBedrockRuntimeChatCompletionsConfig,
    litellm.AnthropicConfig,
    litellm.IBMWatsonXAIConfig,
    litellm.OllamaConfig,
    litellm.SnowflakeConfig,
)


def _in_a_thread(convert: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same conversion, run in a thread. It waits for nothing there: what it would fetch is refused
    (`UnaskedCall`)."""

    async def converted(*args: P.args, **given: P.kwargs) -> T:
        return await asyncio.to_thread(asyncio.run, convert(*args, **given))

    return converted


async def _as_it_is(body: dict[str, object], _type: object) -> dict[str, object]:
    """In place of OpenAI's SDK's own conversion, which compares each message with every type that it may have, and
    changes nothing."""
    return {name: value for name, value in body.items() if is_given(value)}


def _may_take_long(*_: object) -> bool:
    """Whether LiteLLM converts a request for Google's models in a thread."""
    return True


def convert_in_threads() -> None:
    """Make LiteLLM convert requests in threads."""
    for config in _CONFIGS:
        config.async_transform_request = _in_a_thread(config.async_transform_request)
    converse: type[Any] = litellm.AmazonConverseConfig
    converse._async_transform_request = _in_a_thread(converse._async_transform_request)
    googles._openai_messages_may_need_sync_media_fetch = _may_take_long
    completions.async_maybe_transform = embeddings.async_maybe_transform = _as_it_is
