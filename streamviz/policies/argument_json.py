"""The JSON of a tool call's arguments, read as every client reads it."""

import json
import re
from collections.abc import Iterator

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.calls import calls_by_name
from streamviz.core.json_value import JsonObject, as_object, as_text, decode_strictly

# Qwen Code refuses even the second.
MOST_CALLS = 3
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def read(block: ToolCallStreamBlock) -> JsonObject:
    """A call's arguments as every client reads them: none at all are an empty object, and plain text is the one member
    `input`.

    Raises ValueError if clients may disagree about them, or not all can read them: not JSON, not an object, more than
    one value, nested deeper than MAX_DEPTH, or with a duplicate key, half of a surrogate pair or a number out of range.
    """
    if block.is_free_text:
        return {"input": block.arguments}
    return _read_once(block.arguments) if block.arguments else {}


def read_within(block: ToolCallStreamBlock, value: JsonObject) -> Iterator[JsonObject]:
    """What the tools get that a call calls by their names, from the outside in; `value` are the call's own arguments.
    If a tool's are JSON text, which Qwen Code takes for an object, the call itself comes first, with that object.

    Raises ValueError for text as `read` does, and if there are more than MOST_CALLS within each other.
    """
    name, calls = block.name, 0
    while calls_by_name(name):
        calls += 1
        if calls > MOST_CALLS:
            raise ValueError("the arguments are of too many calls within each other")
        name, given = as_text(value.get("name")), value.get("arguments")
        if isinstance(given, str):
            given = _read_once(given)
            yield {**value, "arguments": given}
        value = as_object(given)
        yield value


def read_json(text: str) -> object:
    """The value that every client reads. Raises ValueError if clients may disagree about it."""
    value = decode_strictly(text)
    json.loads(text, object_pairs_hook=_unique)
    return value


def _read_once(raw: str) -> JsonObject:
    try:
        value = read_json(raw)
    except ValueError as error:
        # The library's message may quote the arguments.
        raise ValueError(f"the arguments cannot be read as one JSON object ({_why(error)})") from None
    if not isinstance(value, dict):
        raise ValueError("the arguments are not a JSON object")
    return value


def _why(error: ValueError) -> str:
    return str(error) if type(error) is ValueError else "it is not JSON"


def unescaped(text: str) -> str:
    """A text with its JSON escapes decoded, whether or not it is JSON."""
    return _ESCAPE.sub(_character, text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The members. Raises ValueError for a duplicate key: one client takes its first value, another its last."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key appears twice")
    return members


def _character(escape: re.Match[str]) -> str:
    code, letter = escape.groups()
    return chr(int(code, 16)) if code else _CONTROLS.get(letter, letter)
