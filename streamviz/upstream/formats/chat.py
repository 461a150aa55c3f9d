"""OpenAI's chat at providers that speak another format, which LiteLLM converts to theirs."""

import msgspec

from streamviz.core.json_value import JsonObject, as_index, as_object
from streamviz.upstream import calls_at_once, earlier_calls
from streamviz.upstream.answer_bytes import chat_events, whole
from streamviz.upstream.chat_parts import TAKE_OPENAIS_TOOLS, require_sayable, with_refusals
from streamviz.upstream.chat_stream import ChatStream
from streamviz.upstream.formats.translated_format import TranslatedFormat, is_any_json
from streamviz.upstream.kept_thinking import wants_thinking_blocks
from streamviz.upstream.lite import litellm
from streamviz.upstream.offered_tools import fit_chat_tools
from streamviz.upstream.request_types import Chosen, Function, Json, Part
from streamviz.upstream.targets import Target
from streamviz.upstream.translated_answer import Opened


class _Called(msgspec.Struct):
    name: str
    arguments: str | None = None


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Called | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | list[Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Tool(msgspec.Struct):
    type: str | None = None
    function: Function | None = None


class _Schema(msgspec.Struct):
    schema: Json | None = None


class _AnswerFormat(msgspec.Struct):
    type: str
    json_schema: _Schema | None = None


class _Request(msgspec.Struct):
    messages: list[_Message]
    tools: list[_Tool] | None = None
    tool_choice: str | Chosen | None = None
    response_format: _AnswerFormat | None = None
    stop: str | list[str] | None = None
    stream_options: Json | None = None
    max_tokens: float | None = None
    max_completion_tokens: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | Json | None = None
    thinking: Json | None = None


class Chat(TranslatedFormat):
    """The format that LiteLLM converts to all others."""

    types = _Request

    def fit(self, target: Target, fields: JsonObject, left_out: list[str]) -> None:
        require_sayable(target, fields)
        fields["messages"] = earlier_calls.in_messages(with_refusals(fields.get("messages")))
        fit_chat(target, fields, left_out)

    def asks_for_json(self, fields: JsonObject) -> str:
        return "response_format" if is_any_json(fields.get("response_format")) else ""

    async def call(self, target: Target, arguments: JsonObject, most_blocks: int | None) -> Opened:
        response: object = await litellm.acompletion(**arguments, max_retries=0)
        if not isinstance(response, litellm.CustomStreamWrapper):
            return Opened(whole(response), response)
        has_usage = as_object(arguments.get("stream_options")).get("include_usage") is True
        await response.fetch_stream()  # as for other formats: `answer_bytes.translated`
        chunks = ChatStream(response, as_index(arguments.get("n")) or 1, has_usage)
        return Opened(chat_events(chunks), chunks)


def fit_chat(target: Target, fields: JsonObject, left_out: list[str]) -> None:
    """Leave out thinking if the model would have to see its earlier thinking, which clients of chat may not have
    kept."""
    calls_at_once.require_few(calls_at_once.in_chat(fields.get("messages")))
    if target.provider not in TAKE_OPENAIS_TOOLS:
        fit_chat_tools(fields)
    if wants_thinking_blocks(target, fields):
        left_out += [name for name in ("reasoning_effort", "thinking") if fields.pop(name, None) is not None]
