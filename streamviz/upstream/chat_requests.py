"""Requests of any format as chat requests."""

from typing import Any

import msgspec
from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig
from pydantic import BaseModel

from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire import ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, WIRE_FORMATS
from streamviz.core.wire.gemini_as_chat import as_chat
from streamviz.upstream.messages_as_chat import as_chat_request
from streamviz.upstream.refusals import inconvertible

_transform = LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request
# What fitting has already expressed in chat's parameters.
_FITTED = frozenset({"parallel_tool_calls", "reasoning_effort", "response_format"})
_THINKING = frozenset({"thinking_blocks", "reasoning_content"})


def without_thinking(messages: object) -> list[JsonObject]:
    """Messages without their thinking, for a provider that did not write it and cannot use another's signatures.
    Answers that were nothing else are left out, because OpenAI refuses an answer with neither text nor calls."""
    said = [{name: value for name, value in each.items() if name not in _THINKING} for each in objects(messages)]
    return [each for each in said if each.get("role") != "assistant" or each.get("content") or each.get("tool_calls")]


def chat_of(wire_format: str, fields: JsonObject, model: str, provider: str) -> JsonObject:
    """A client's request of any format as a chat request. Raises ClientFacingError (400) for what chat cannot
    express."""
    if wire_format == OPENAI_CHAT.name:
        return fields
    if wire_format == GEMINI.name:
        return as_chat(fields)
    own = {name: value for name, value in fields.items() if name in WIRE_FORMATS[wire_format].parameters | _FITTED}
    if wire_format == ANTHROPIC_MESSAGES.name:
        chat, _ = as_chat_request({**own, "model": model})
        chat["messages"] = without_thinking(chat["messages"])
        if effort := as_text(as_object(chat.get("reasoning_effort")).get("effort")):
            # An object is the responses API's form: given one, LiteLLM would call that API for some models.
            chat["reasoning_effort"] = effort
    else:
        chat = _responses_as_chat(own, model, provider)
    return {name: value for name, value in chat.items() if value is not None and name != "custom_llm_provider"}


def _responses_as_chat(fields: JsonObject, model: str, provider: str) -> dict[str, object]:
    given: Any = {name: value for name, value in fields.items() if name != "input"}
    asked: Any = fields.get("input") or ""
    try:
        found: dict[str, object] = _transform(model, asked, given, custom_llm_provider=provider)
    except Exception as error:  # As with messages, LiteLLM may fail in any way.
        raise inconvertible(error) from error
    return msgspec.json.decode(msgspec.json.encode(found, enc_hook=_as_plain), type=dict[str, object])


def _as_plain(value: object) -> object:
    """LiteLLM's messages may be pydantic objects."""
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else str(value)
