"""Which format LiteLLM calls a provider in, and requests of Anthropic's messages as the chat calls it makes of them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from litellm.llms.anthropic.messages.adapters.handler import LiteLLMMessagesToCompletionTransformationHandler
from litellm.types.utils import LlmProviders
from litellm.utils import ProviderConfigManager

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject
from streamviz.upstream.refusals import told

_AS_CHAT = frozenset(
    "max_tokens messages model metadata stop_sequences stream system temperature thinking tool_choice tools top_k"
    " top_p".split()
)
_THINKING = frozenset({"thinking_blocks", "reasoning_content"})


@lru_cache(maxsize=1_000)
def speaks_messages(provider: str, model: str) -> bool:
    """Whether LiteLLM calls this provider in Anthropic's own format."""
    try:
        return ProviderConfigManager.get_provider_anthropic_messages_config(model, LlmProviders(provider)) is not None
    except ValueError:
        return False


@lru_cache(maxsize=1_000)
def speaks_responses(provider: str, model: str) -> bool:
    """Whether LiteLLM calls this provider in the format of OpenAI's responses."""
    return ProviderConfigManager.get_provider_responses_api_config(provider, model) is not None


def as_chat_request(arguments: dict[str, Any]) -> tuple[dict[str, object], Mapping[str, str]]:
    """LiteLLM's arguments for a messages call as those for a chat call.

    Beside them the client's own names of tools whose names had to be cut for chat, by what was left of them. Raises
    UpstreamError (400) for what cannot be said there.
    """
    own = {name: value for name, value in arguments.items() if name in _AS_CHAT}
    others = {name: value for name, value in arguments.items() if name not in _AS_CHAT}
    try:
        chat, tool_names = LiteLLMMessagesToCompletionTransformationHandler._prepare_completion_kwargs(
            **own, extra_kwargs=others
        )
    except Exception as error:  # It takes the request for well-formed, and fails as it happens where it is not.
        message = f"This request cannot be converted to its provider's format: {told(str(error))}"
        raise UpstreamError(400, message, kind="invalid_request_error") from error
    return dict(chat), tool_names


def without_thinking(message: JsonObject) -> JsonObject:
    """A message for a provider that did not write the thinking in it, and has no use for another's signatures."""
    return {name: value for name, value in message.items() if name not in _THINKING}
