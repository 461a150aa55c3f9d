"""The arguments of Gemini's calls, put together from pieces that each give their place in them."""

import re
from collections.abc import Sequence

from streamviz.core.json_value import JsonObject, as_text

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[["']([^"']+)["']\]""")
_VALUES = ("stringValue", "numberValue", "boolValue")
_DEEPEST = 100
_LONGEST_LIST = 10_000


def assemble(pieces: Sequence[JsonObject]) -> JsonObject:
    """The arguments that pieces with a `jsonPath` and a value add up to; pieces of the same string are joined."""
    root: JsonObject = {}
    for piece in pieces:
        steps = _steps(as_text(piece.get("jsonPath")))
        if 0 < len(steps) <= _DEEPEST:
            value = next((piece[key] for key in _VALUES if key in piece), None)
            _put(root, steps, value)
    return root


def _steps(path: str) -> list[str | int]:
    """The keys and indexes that a path like `$.steps[0].name` goes through."""
    return [key or quoted or int(place) for key, place, quoted in _STEP.findall(path) if len(place) < 10]


def _put(node: object, steps: Sequence[str | int], value: object) -> None:
    """Set the value that `steps` lead to; a path that does not fit what is there is ignored."""
    step, rest = steps[0], steps[1:]
    if isinstance(node, dict) and isinstance(step, str):
        node[step] = _grown(node.get(step), rest, value)
    elif isinstance(node, list) and isinstance(step, int) and step < _LONGEST_LIST:
        node += [None] * (step + 1 - len(node))
        node[step] = _grown(node[step], rest, value)


def _grown(old: object, rest: Sequence[str | int], value: object) -> object:
    if not rest:
        return old + value if isinstance(old, str) and isinstance(value, str) else value
    node: object = old
    if not isinstance(node, dict | list):
        node = [] if isinstance(rest[0], int) else {}
    _put(node, rest, value)
    return node
