"""OpenAI's responses at providers that LiteLLM calls in the chat format, or in this one itself."""

from typing import Any

import msgspec
from litellm.responses.litellm_completion_transformation.streaming_iterator import LiteLLMCompletionStreamingIterator
from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig
from pydantic import BaseModel

from streamviz.core.json_value import JsonObject, as_object, as_text, encode, objects
from streamviz.core.wire import OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire.compaction import Summary
from streamviz.core.wire.signed_thinking import marked, signed_blocks
from streamviz.core.wire.translator import Translator
from streamviz.upstream import calls_at_once, response_items
from streamviz.upstream.answer_bytes import native, translated
from streamviz.upstream.chat_chunk import ChatChunk
from streamviz.upstream.failures import inconvertible
from streamviz.upstream.formats.translated_format import TranslatedFormat, as_set, is_any_json, own_or_fitted
from streamviz.upstream.kept_thinking import wants_thinking_back
from streamviz.upstream.lite import litellm
from streamviz.upstream.model_parameters import taken_by
from streamviz.upstream.offered_tools import NAMESPACE, fit_responses_tools, namespaces_of
from streamviz.upstream.provider_formats import speaks_messages, speaks_responses
from streamviz.upstream.request_fields import list_out, object_out, refusal
from streamviz.upstream.request_types import Chosen, Json, Part, Tool
from streamviz.upstream.summaries import asks_for_summary, in_words
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened

_transform = LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request
# Hints that LiteLLM does not convert to chat.
_LOST = frozenset({"store", "truncation", "prompt_cache_key", "prompt_cache_retention"})
# Parts of an answer that can be missing without changing the rest.
_INCLUDED_BESIDE = frozenset(
    {"reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"}
)


class _Item(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    content: str | list[Part] | None = None
    summary: list[Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | Json | list[object] | None = None


class _Text(msgspec.Struct):
    format: Json | None = None


class _Request(msgspec.Struct):
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[Tool] | None = None
    tool_choice: str | Chosen | None = None
    text: _Text | None = None
    reasoning: Json | None = None
    include: list[object] | None = None
    max_output_tokens: float | None = None
    temperature: float | None = None
    top_p: float | None = None


class Responses(TranslatedFormat):
    """LiteLLM converts requests to chat, unless the provider speaks this format itself."""

    types = _Request

    def is_spoken(self, target: Target) -> bool:
        return speaks_responses(target)

    def takes(self, target: Target, name: str) -> bool:
        return name not in _LOST and super().takes(target, name)

    def fit(self, target: Target, fields: JsonObject, left_out: list[str]) -> None:
        fit_responses_tools(target, fields, left_out)
        if isinstance(items := fields.get("input"), list):
            fields["input"] = said = response_items.sayable(target, items, left_out)
            calls_at_once.require_few(calls_at_once.in_items(said))
        text = dict(object_out(fields, "text"))
        if text.pop("verbosity", None) is not None:
            left_out.append("text.verbosity")
        if text:
            fields["text"] = text
        _fit_reasoning(target, fields, left_out)
        for each in list_out(fields, "include"):
            if as_text(each) not in _INCLUDED_BESIDE:
                raise refusal(target, "include")
            left_out.append(f"include: {each}")
        if fields.pop("top_logprobs", 0):
            raise refusal(target, "top_logprobs")

    def asks_for_json(self, fields: JsonObject) -> str:
        return "text.format" if is_any_json(as_object(fields.get("text")).get("format")) else ""

    async def call(self, target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
        if speaks_responses(target):
            return native(await litellm.aresponses(**arguments))
        given = arguments["input"]
        summary = Summary() if asks_for_summary(given) else None
        if isinstance(given, list):
            keeps = speaks_messages(target)
            given = in_words([_thought(item, keeps=keeps) for item in given])
        tools = objects(arguments.get("tools"))
        told = {"tools": [_without(tool, NAMESPACE) for tool in tools]} if tools else {}
        asked = {**arguments, **told, "input": given, "stream": True}
        response: object = await litellm.aresponses(**asked, max_retries=0)
        assert isinstance(response, LiteLLMCompletionStreamingIterator), type(response)
        chat = response.litellm_custom_stream_wrapper
        plain = {as_text(tool.get("name")) for tool in tools if tool.get("type") == "custom"}
        names = OPENAI_CHAT.name, OPENAI_RESPONSES.name
        translator = Translator(*names, {}, most_blocks, plain, namespaces_of(tools), summary)
        return await translated(chat, translator, arguments, _with_seals)

    def as_chat(self, target: Target, fields: JsonObject) -> JsonObject:
        own = own_or_fitted(fields, OPENAI_RESPONSES)
        given: Any = {name: value for name, value in own.items() if name != "input"}
        asked: Any = own.get("input") or ""
        try:
            found: JsonObject = _transform(target.model, asked, given, custom_llm_provider=target.provider)
        except Exception as error:  # As with messages, LiteLLM may fail in any way.
            raise inconvertible(error) from error
        return as_set(msgspec.json.decode(msgspec.json.encode(found, enc_hook=_as_plain), type=JsonObject))


def _fit_reasoning(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    reasoning = object_out(fields, "reasoning")
    if "summary" in reasoning:
        left_out.append("reasoning.summary")
    if (effort := reasoning.get("effort")) is None:
        return
    if "reasoning_effort" in taken_by(target.provider, target.model) and not wants_thinking_back(target, fields):
        fields["reasoning"] = {"effort": effort}
    else:
        left_out.append("reasoning.effort")


def _thought(item: object, *, keeps: bool) -> object:
    """A reasoning item with its blocks in the form in which LiteLLM takes them back, and without other encrypted
    content, which nobody can read."""
    details = as_object(item)
    if details.get("type") != "reasoning":
        return item
    told = _without(details, "encrypted_content")
    text = "".join(as_text(part.get("text")) for part in objects(details.get("summary")))
    blocks = signed_blocks(text, details.get("encrypted_content")) if keeps else []
    return {**told, "encrypted_content": encode(blocks).decode()} if blocks else told


def _without(details: JsonObject, member: str) -> JsonObject:
    return {name: value for name, value in details.items() if name != member}


def _with_seals(chunk: ChatChunk) -> ChatChunk:
    choices = [{**choice, "delta": marked(as_object(choice.get("delta")))} for choice in chunk.choices]
    return msgspec.structs.replace(chunk, choices=choices)


def _as_plain(value: object) -> object:
    """LiteLLM's messages may be pydantic objects."""
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else str(value)
