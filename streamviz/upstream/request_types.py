"""The types in a request to a provider of another format: LiteLLM takes them for granted, and if they are wrong it
fails as if the provider did.

Only what LiteLLM looks into is here, not all of a format. The provider reports anything else that is wrong.
"""

import re

import msgspec

from streamviz.core.errors import RequestError, missing, wrong_type
from streamviz.core.json_value import JsonObject
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES

Json = dict[str, object]


class _Address(msgspec.Struct):
    url: str


class _Part(msgspec.Struct):
    """A part of a message or an item, in any format."""

    type: str
    text: str | None = None
    image_url: str | _Address | None = None
    source: str | Json | None = None
    content: str | Json | list[Json] | None = None
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None


class _Called(msgspec.Struct):
    name: str
    arguments: str | None = None


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Called | None = None


class _ChatMessage(msgspec.Struct):
    role: str
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    description: str | None = None
    parameters: Json | None = None


class _ChatTool(msgspec.Struct):
    type: str | None = None
    function: _Function | None = None


class _Chosen(msgspec.Struct):
    type: str
    name: str | None = None
    function: _Function | None = None


class _Schema(msgspec.Struct):
    schema: Json | None = None


class _ChatAnswer(msgspec.Struct):
    type: str
    json_schema: _Schema | None = None


class _Chat(msgspec.Struct):
    messages: list[_ChatMessage]
    tools: list[_ChatTool] | None = None
    tool_choice: str | _Chosen | None = None
    response_format: _ChatAnswer | None = None
    stop: str | list[str] | None = None
    stream_options: Json | None = None
    max_tokens: float | None = None
    max_completion_tokens: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | Json | None = None
    thinking: Json | None = None


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part]


class _Tool(msgspec.Struct):
    """A tool of Anthropic's messages, or of OpenAI's responses."""

    type: str | None = None
    name: str | None = None
    description: str | None = None
    input_schema: Json | None = None
    parameters: Json | None = None


class _Messages(msgspec.Struct):
    messages: list[_Message]
    system: str | list[_Part] | None = None
    tools: list[_Tool] | None = None
    tool_choice: _Chosen | None = None
    stop_sequences: list[str] | None = None
    thinking: Json | None = None
    output_config: Json | None = None
    max_tokens: float | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None


class _Item(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    content: str | list[_Part] | None = None
    summary: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | Json | list[object] | None = None


class _Text(msgspec.Struct):
    format: Json | None = None


class _Responses(msgspec.Struct):
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | _Chosen | None = None
    text: _Text | None = None
    reasoning: Json | None = None
    include: list[object] | None = None
    max_output_tokens: float | None = None
    temperature: float | None = None
    top_p: float | None = None


class _Generation(msgspec.Struct, rename="camel"):
    max_output_tokens: float | None = None
    stop_sequences: list[str] | None = None
    response_schema: Json | None = None
    response_json_schema: Json | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    thinking_config: Json | None = None


class _Gemini(msgspec.Struct, rename="camel"):
    tools: Json | list[Json] | None = None
    generation_config: _Generation | None = None


class _Embeddings(msgspec.Struct):
    """The members of `input` may be objects, in which Gemini takes files, and Jina images."""

    input: str | list[str | int | list[int] | Json]
    dimensions: int | None = None
    encoding_format: str | None = None


_TYPES: dict[str, type[msgspec.Struct]] = {
    OPENAI_CHAT.name: _Chat,
    ANTHROPIC_MESSAGES.name: _Messages,
    OPENAI_RESPONSES.name: _Responses,
    GEMINI.name: _Gemini,
    EMBEDDINGS.name: _Embeddings,
}
_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<where>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>\w+)`$")
# JSON Schema's names for msgspec's types.
_NAMES = {"bool": "boolean", "float": "number", "int": "integer", "str": "string"}
_NAME = re.compile(r"\b(?:bool|float|int|str)\b")


def require_types(wire_format: str, fields: JsonObject) -> None:
    """Raises RequestError (400) naming what is missing in a request, or has the wrong type."""
    try:
        msgspec.convert(fields, _TYPES[wire_format])
    except msgspec.ValidationError as error:
        raise _refused(str(error)) from error


def _refused(words: str) -> RequestError:
    found = _WHERE.match(words)
    what, where = (found["what"], found["where"] or "") if found else (words, "")
    if absent := _MISSING.match(what):
        return missing(f"{where}.{absent['name']}".lstrip("."))
    expected = _NAME.sub(lambda name: _NAMES[name[0]], what.removeprefix("Expected "))
    return wrong_type(where, expected.replace(", got ", ", not "))
