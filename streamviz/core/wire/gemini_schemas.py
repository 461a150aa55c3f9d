"""The functions that requests of Gemini's generateContent declare, and their schemas, which are OpenAPI's."""

import re
from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_object, objects

_LONGEST_NAME = 100
# Limits in Google's schemas, whose 64-bit integers are strings in JSON (https://ai.google.dev/api/caching#Schema).
_LIMITS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
# Values that a schema tells of, and members with schemas by names of the client's own.
_VALUES = frozenset({"default", "example", "examples", "const", "enum"})
_NAMED = frozenset(
    "properties patternProperties $defs defs definitions"
    " dependentSchemas dependentRequired dependencies mapping".split()
)
_INT64 = re.compile(r"[0-9]{1,19}")
_CAPITAL = re.compile(r"(?=[A-Z])")


def functions_of(tool: JsonObject) -> list[JsonObject]:
    """The functions that a tool of this format declares, under either name or both."""
    return [*objects(tool.get("functionDeclarations")), *objects(tool.get("function_declarations"))]


def declared(tool: JsonObject) -> Iterator[JsonObject]:
    """The same functions as other formats declare them."""
    for function in functions_of(tool):
        schema = function.get("parametersJsonSchema", function.get("parameters_json_schema"))
        if schema is None and "parameters" in function:
            schema = as_json_schema(function["parameters"])
        yield {"type": "function", "name": function.get("name"), **({} if schema is None else {"parameters": schema})}


def as_json_schema(schema: object) -> object:
    """A schema with Google's types, which are OpenAPI's in capitals, as JSON Schema."""
    if isinstance(schema, list):
        return [as_json_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made: JsonObject = {camel(name): _member(camel(name), value) for name, value in as_object(schema).items()}
    for name in _LIMITS.intersection(made):
        if isinstance(limit := made[name], str) and _INT64.fullmatch(limit):
            made[name] = int(limit)
    kind = made.get("type")
    if kind == "TYPE_UNSPECIFIED":
        del made["type"]
    elif isinstance(kind, str):
        made["type"] = kind.lower()
    if made.get("nullable") is True:
        _let_be_null(made)
    return made


def _member(name: str, value: object) -> object:
    if name in _VALUES:
        return value
    if name in _NAMED and isinstance(value, dict):
        return {own: as_json_schema(each) for own, each in value.items()}
    return as_json_schema(value)


def _let_be_null(schema: JsonObject) -> None:
    """Say in JSON Schema's words that a value may be null, wherever the schema says what it may be."""
    if isinstance(kind := schema.get("type"), str) and kind != "null":
        schema["type"] = [kind, "null"]
    if isinstance(values := schema.get("enum"), list) and None not in values:
        schema["enum"] = [*values, None]
    if isinstance(either := schema.get("anyOf"), list):
        schema["anyOf"] = [*either, {"type": "null"}]


def camel(name: str) -> str:
    """A member's name in camelCase (`fileData`); as it is if too long to be a name."""
    if len(name) > _LONGEST_NAME:
        return name
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def snake(name: str) -> str:
    """The same in snake_case (`file_data`)."""
    return name if len(name) > _LONGEST_NAME else _CAPITAL.sub("_", name).lower()
