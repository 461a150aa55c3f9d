"""Which format LiteLLM calls a provider in, and requests of other formats as those of chat."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from litellm.llms.anthropic.messages.adapters.handler import LiteLLMMessagesToCompletionTransformationHandler
from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig
from litellm.types.utils import LlmProviders
from litellm.utils import ProviderConfigManager
from pydantic import BaseModel

from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, WIRE_FORMATS
from streamviz.core.wire.gemini_as_chat import as_chat
from streamviz.upstream.lite import litellm
from streamviz.upstream.refusals import told

_AS_CHAT = frozenset(
    "max_tokens messages model metadata stop_sequences stream system temperature thinking tool_choice tools top_k"
    " top_p".split()
)
_transform = LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request
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
        raise _inconvertible(error) from error
    return dict(chat), tool_names


def _inconvertible(error: Exception) -> UpstreamError:
    message = f"This request cannot be converted to its provider's format: {told(str(error))}"
    return UpstreamError(400, message, kind="invalid_request_error")


def without_thinking(message: JsonObject) -> JsonObject:
    """A message for a provider that did not write the thinking in it, and has no use for another's signatures."""
    return {name: value for name, value in message.items() if name not in _THINKING}


@lru_cache(maxsize=1_000)
def bound_of(provider: str, model: str) -> str:
    """What chat calls the most tokens of an answer of this model, as far as LiteLLM knows."""
    told = litellm.get_optional_params(model=model, custom_llm_provider=provider, max_tokens=1)
    return "max_completion_tokens" if "max_completion_tokens" in told else "max_tokens"


def chat_of(wire_format: str, fields: JsonObject, model: str, provider: str) -> JsonObject:
    """A client's request of any format as one of chat. Raises ClientFacingError (400) for what cannot be said there."""
    if wire_format == OPENAI_CHAT.name:
        return fields
    if wire_format == GEMINI.name:
        return as_chat(fields)
    own = {name: value for name, value in fields.items() if name in WIRE_FORMATS[wire_format].parameters}
    if wire_format == ANTHROPIC_MESSAGES.name:
        chat, _ = as_chat_request({**own, "model": model})
        chat["messages"] = [without_thinking(message) for message in objects(chat["messages"])]
        if effort := as_text(as_object(chat.get("reasoning_effort")).get("effort")):
            # As the responses have it, which LiteLLM would call for some models.
            chat["reasoning_effort"] = effort
    else:
        chat = _responses_as_chat(own, model, provider)
    return {name: value for name, value in chat.items() if value is not None and name != "custom_llm_provider"}


def _responses_as_chat(fields: JsonObject, model: str, provider: str) -> dict[str, object]:
    given: Any = {name: value for name, value in fields.items() if name != "input"}
    asked: Any = fields.get("input") or ""
    try:
        found: dict[str, object] = _transform(model, asked, given, custom_llm_provider=provider)
    except Exception as error:  # As above.
        raise _inconvertible(error) from error
    return msgspec.json.decode(msgspec.json.encode(found, enc_hook=_as_plain), type=dict[str, object])


def _as_plain(value: object) -> object:
    """LiteLLM's messages may be pydantic's objects."""
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else str(value)
