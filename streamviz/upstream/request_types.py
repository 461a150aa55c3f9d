"""The types in a request to a provider of another format: LiteLLM takes them for granted, and if they are wrong it
fails as if the provider did.

Only what LiteLLM looks into is here, not all of a format. The provider reports anything else that is wrong.
"""

import re

import msgspec

from streamviz.core.errors import RequestError, missing, wrong_type
from streamviz.core.json_value import JsonObject

Json = dict[str, object]
_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<where>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>\w+)`$")
# JSON Schema's names for msgspec's types.
_NAMES = {"bool": "boolean", "float": "number", "int": "integer", "str": "string"}
_NAME = re.compile(r"\b(?:bool|float|int|str)\b")


class _Address(msgspec.Struct):
    url: str


class Part(msgspec.Struct):
    """A part of a message or an item, in any format."""

    type: str
    text: str | None = None
    image_url: str | _Address | None = None
    source: str | Json | None = None
    content: str | Json | list[Json] | None = None
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None


class Function(msgspec.Struct):
    name: str | None = None
    description: str | None = None
    parameters: Json | None = None


class Chosen(msgspec.Struct):
    type: str
    name: str | None = None
    function: Function | None = None


class Tool(msgspec.Struct):
    """A tool of Anthropic's messages, or of OpenAI's responses."""

    type: str | None = None
    name: str | None = None
    description: str | None = None
    input_schema: Json | None = None
    parameters: Json | None = None


def require_types(types: type[msgspec.Struct], fields: JsonObject) -> None:
    """Raises RequestError (400) naming what is missing in a request, or has another type than in `types`."""
    try:
        msgspec.convert(fields, types)
    except msgspec.ValidationError as error:
        raise _refused(str(error)) from error


def _refused(words: str) -> RequestError:
    found = _WHERE.match(words)
    what, where = (found["what"], found["where"] or "") if found else (words, "")
    if absent := _MISSING.match(what):
        return missing(f"{where}.{absent['name']}".lstrip("."))
    expected = _NAME.sub(lambda name: _NAMES[name[0]], what.removeprefix("Expected "))
    return wrong_type(where, expected.replace(", got ", ", not "))
