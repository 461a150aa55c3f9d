"""The non-streaming answer of Gemini, from blocks.

Format: https://ai.google.dev/api/generate-content#generatecontentresponse.
"""

import re
from collections.abc import Mapping, Sequence

from streamviz.core.blocks import MediaStreamBlock, StreamBlock, StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.calls import as_input
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_text

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[["']([^"']+)["']\]""")
_VALUES = ("stringValue", "numberValue", "boolValue")
_DEEPEST = 100
_LONGEST_LIST = 10_000


def build_message(
    state: StreamState,
    head: JsonObject,
    parts: Mapping[int, JsonObject],
    pieces: Mapping[int, Sequence[JsonObject]],
) -> JsonObject:
    """A `GenerateContentResponse` of all blocks.

    `head` gives its other fields, `parts` the part that each block began with and `pieces` the streamed arguments of
    calls, both by the block's ordinal.
    """
    contents: dict[int, list[JsonObject]] = {number: [] for number in sorted(state.finish_reasons)}
    for block in state.blocks:
        began = parts.get(block.ordinal, {})
        more = media_parts(block.label, block.text)[1:] if isinstance(block, MediaStreamBlock) else []
        contents.setdefault(block.choice, []).extend([_part(block, began, pieces.get(block.ordinal, ())), *more])
    candidates: list[JsonObject] = [
        {
            "content": {"role": "model", "parts": content},
            "finishReason": state.finish_reasons.get(number),
            "index": number,
        }
        for number, content in contents.items()
    ]
    return {**head, "candidates": candidates}


def _part(block: StreamBlock, began: JsonObject, pieces: Sequence[JsonObject]) -> JsonObject:
    match block:
        case ToolCallStreamBlock() if not block.label:
            call: JsonObject = {"name": block.name, "args": {**as_input(block.text), **assemble(pieces)}}
            return {**began, "functionCall": {"id": block.id, **call} if block.id else call}
        case ThinkingStreamBlock():
            signature = {"thoughtSignature": block.signature} if block.signature else {}
            return {**began, "text": block.text, "thought": True, **signature}
        case _:
            return {**began, "text": block.text} if block.kind is BlockKind.CONTENT else began


def media_parts(label: str, text: str) -> list[JsonObject]:
    """The parts of a block of media under the wire's word for it: a sound has a line for each."""
    return [{label: said} for line in text.split("\n") if (said := as_input(line))]


def assemble(pieces: Sequence[JsonObject]) -> JsonObject:
    """The arguments that pieces with a `jsonPath` and a value add up to; pieces of one text are joined."""
    root: JsonObject = {}
    for piece in pieces:
        steps = _steps(as_text(piece.get("jsonPath")))
        if 0 < len(steps) <= _DEEPEST:
            value = next((piece[key] for key in _VALUES if key in piece), None)
            _put(root, steps, value)
    return root


def _steps(path: str) -> list[str | int]:
    """The keys and the places that a path like `$.steps[0].name` goes through."""
    return [key or quoted or int(place) for key, place, quoted in _STEP.findall(path) if len(place) < 10]


def _put(node: object, steps: Sequence[str | int], value: object) -> None:
    """Set what `steps` lead to; a path that does not fit what is there leads nowhere."""
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
