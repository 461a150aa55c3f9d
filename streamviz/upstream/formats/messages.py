"""Anthropic's messages at providers that LiteLLM calls in the chat format, or in this one itself."""

import msgspec

from streamviz.core.errors import missing
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire import ANTHROPIC_MESSAGES, OPENAI_CHAT
from streamviz.core.wire.translator import Translator
from streamviz.upstream import calls_at_once, message_blocks
from streamviz.upstream.answer_bytes import native, translated
from streamviz.upstream.formats.translated_format import TranslatedFormat, as_set, own_or_fitted
from streamviz.upstream.lite import litellm
from streamviz.upstream.messages_as_chat import as_chat_request
from streamviz.upstream.model_parameters import has, may_not_think, taken_by
from streamviz.upstream.native_messages import call_messages
from streamviz.upstream.offered_tools import fit_messages_tools
from streamviz.upstream.provider_formats import speaks_messages
from streamviz.upstream.request_fields import list_out, object_out, refusal
from streamviz.upstream.request_types import Chosen, Json, Part, Tool
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened

_EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
_THINKING = frozenset({"thinking_blocks", "reasoning_content"})


class _Message(msgspec.Struct):
    role: str
    content: str | list[Part]


class _Request(msgspec.Struct):
    messages: list[_Message]
    system: str | list[Part] | None = None
    tools: list[Tool] | None = None
    tool_choice: Chosen | None = None
    stop_sequences: list[str] | None = None
    thinking: Json | None = None
    output_config: Json | None = None
    max_tokens: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None


class Messages(TranslatedFormat):
    """LiteLLM converts requests to chat, unless the provider speaks this format itself."""

    types = _Request

    def is_spoken(self, target: Target) -> bool:
        return speaks_messages(target)

    def fit(self, target: Target, fields: JsonObject, left_out: list[str]) -> None:
        fit_messages_tools(target, fields, left_out)
        messages = list_out(fields, "messages")
        calls_at_once.require_few(calls_at_once.in_messages(messages))
        fields["messages"] = message_blocks.sayable(target, messages, left_out)
        if not fields.get("stop_sequences"):
            fields.pop("stop_sequences", None)
        elif not has(target, "stop"):
            raise refusal(target, "stop_sequences")
        config = object_out(fields, "output_config")
        _fit_thinking(target, fields, as_text(config.get("effort")), left_out)
        if schema := as_object(as_object(config.get("format")).get("schema")):
            fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}

    async def call(self, target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
        if arguments.get("max_tokens") is None:
            raise missing("max_tokens")
        if speaks_messages(target):
            return native(await call_messages(**arguments))
        chat, tool_names = as_chat_request({**arguments, "stream": True})
        chat["messages"] = _without_thinking(chat["messages"])
        response: object = await litellm.acompletion(**chat, max_retries=0)
        translator = Translator(OPENAI_CHAT.name, ANTHROPIC_MESSAGES.name, tool_names, most_blocks)
        return await translated(response, translator, arguments)

    def as_chat(self, target: Target, fields: JsonObject) -> JsonObject:
        chat, _ = as_chat_request({**own_or_fitted(fields, ANTHROPIC_MESSAGES), "model": target.model})
        chat["messages"] = _without_thinking(chat["messages"])
        if effort := as_text(as_object(chat.get("reasoning_effort")).get("effort")):
            # An object is the responses API's form: given one, LiteLLM would call that API for some models.
            chat["reasoning_effort"] = effort
        return as_set(chat)

    def to_count(self, arguments: JsonObject) -> tuple[JsonObject, str]:
        return as_chat_request({"max_tokens": 1, **arguments, "stream": False})[0], "input_tokens"


def _fit_thinking(target: Target, fields: JsonObject, effort: str, left_out: list[str]) -> None:
    """Pass thinking and effort on as effort, if the model has such a parameter."""
    effort = _EFFORTS.get(effort, "")
    reasons = "reasoning_effort" in taken_by(target.provider, target.model)
    kind = as_text(as_object(fields.get("thinking")).get("type"))
    may_stay = {"adaptive": False, "enabled": reasons, "disabled": may_not_think(target.provider, target.model)}
    if not may_stay.get(kind, True):
        del fields["thinking"]
        left_out.append("thinking")
    if effort and reasons and "thinking" not in fields:
        fields["reasoning_effort"] = effort
    elif effort:
        left_out.append("output_config.effort")


def _without_thinking(messages: object) -> list[JsonObject]:
    """Messages without their thinking, for a provider that did not write it and cannot use another's signatures.
    Answers that were nothing else are left out, because OpenAI refuses an answer with neither text nor calls."""
    said = [{name: value for name, value in each.items() if name not in _THINKING} for each in objects(messages)]
    return [each for each in said if each.get("role") != "assistant" or each.get("content") or each.get("tool_calls")]
