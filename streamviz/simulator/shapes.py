"""The JSON that a chat request asks for: of what shape it is to be, and an example of one."""

import msgspec

from streamviz.simulator.reply import JsonObject

_DEEPEST = 20
# By type; of any other it is a text.
_SIMPLEST: JsonObject = {"integer": 1, "number": 1, "boolean": True, "null": None, "array": [], "object": {}}


def shape_of(request: JsonObject) -> JsonObject | None:
    """The schema of the JSON that a chat request wants; where any object will do, `description` has what the
    model is told of that. None where it wants text."""
    wanted = request.get("response_format")
    match wanted:
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return schema
        case {"type": "json_schema" | "json_object"}:
            return {"type": "object", "description": _instructions(request.get("messages"))}
        case _:
            return None


def _instructions(messages: object) -> str:
    turns = messages if isinstance(messages, list) else []
    told = [turn for turn in turns if isinstance(turn, dict) and turn.get("role") in ("system", "developer")]
    return msgspec.json.encode(told).decode()


def example_of(schema: JsonObject, text: str) -> object:
    """What keeps to a schema, in its simplest form; its texts are `text`."""
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
            return _SIMPLEST.get(type, text)
        case _:
            return text


def _named(reference: str, root: JsonObject) -> object:
    """What a reference into the schema itself leads to."""
    found: object = root
    for step in reference.split("/")[1:]:
        found = found.get(step) if isinstance(found, dict) else None
    return found
