"""The JSON that a request in any format asks for: its schema, and an example of it."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from streamviz.simulator.reply import JsonObject

_DEEPEST = 20
# By type; a type that is not here gets a text.
_SIMPLEST: JsonObject = {"integer": 1, "number": 1, "boolean": True, "null": None, "array": [], "object": {}}


class Shape(NamedTuple):
    """The schema of the JSON that a request asks for. `tool` names the tool whose arguments it is to be; empty if it is
    to be the answer's text."""

    schema: JsonObject
    tool: str = ""


def shape_of(request: JsonObject) -> Shape | None:
    """The shape of what a request asks for; None if it is text. If any object will do, the schema's `description` has
    the instructions that the model was given."""
    match request:
        case {"tool_choice": {"function": {"name": str(name)}} | {"name": str(name)}} | {
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [str(name)]}}
        }:
            return Shape(_parameters(request, name), name)
        case (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": dict(schema)}}}
            | {"text": {"format": {"type": "json_schema", "schema": dict(schema)}}}
            | {"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}}
            | {"output_format": {"type": "json_schema", "schema": dict(schema)}}
            | {"generationConfig": {"responseJsonSchema": dict(schema)}}
            | {"generationConfig": {"responseSchema": dict(schema)}}
        ):
            return Shape(schema)
        case (
            {"response_format": {"type": "json_schema" | "json_object"}}
            | {"text": {"format": {"type": "json_object"}}}
            | {"generationConfig": {"responseMimeType": "application/json"}}
        ):
            return Shape({"type": "object", "description": _instructions(request)})
        case _:
            return None


def _parameters(request: JsonObject, name: str) -> JsonObject:
    """The schema of the arguments of one of the request's tools."""
    for tool in _declared(request.get("tools")):
        match tool:
            case (
                {"function": {"name": found, "parameters": dict(schema)}}
                | {"name": found, "parameters": dict(schema)}
                | {"name": found, "input_schema": dict(schema)}
            ) if found == name:
                return schema
    return {}


def _declared(tools: object) -> Iterator[object]:
    """Each declared tool; Gemini groups some in one."""
    for tool in tools if isinstance(tools, list) else ():
        match tool:
            case {"functionDeclarations": list(declared)}:
                yield from declared
            case _:
                yield tool


def _instructions(request: JsonObject) -> str:
    turns = request.get("messages", request.get("input"))
    said = turns if isinstance(turns, list) else []
    told = [turn for turn in said if isinstance(turn, dict) and turn.get("role") in ("system", "developer")]
    return msgspec.json.encode([*told, request.get("instructions"), request.get("systemInstruction")]).decode()


def example_of(schema: JsonObject, text: str) -> object:
    """A value that satisfies a schema, in its simplest form; its texts are `text`."""
    return _example(schema, schema, text, _DEEPEST)


def _example(schema: object, root: JsonObject, text: str, depth: int) -> object:
    if depth == 0:
        return None
    match schema:
        case {"const": value} | {"enum": [value, *_]}:
            return value
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]} | {"allOf": [first, *_]}:
            return _example(first, root, text, depth - 1)
        case {"$ref": str(reference)}:
            return _example(_named(reference, root), root, text, depth - 1)
        case {"type": "array", "items": items}:
            return [_example(items, root, text, depth - 1)]
        case {"properties": dict(properties)}:
            return {name: _example(each, root, text, depth - 1) for name, each in properties.items()}
        case {"type": str(type)} | {"type": [str(type), *_]}:
            return _SIMPLEST.get(type.lower(), text)  # Gemini's types are in capitals
        case _:
            return text


def _named(reference: str, root: JsonObject) -> object:
    """What a reference within the schema points to."""
    found: object = root
    for step in reference.split("/")[1:]:
        found = found.get(step) if isinstance(found, dict) else None
    return found
