"""A non-streaming answer of Gemini, from blocks.

Format: https://ai.google.dev/api/generate-content#generatecontentresponse.
"""

from collections.abc import Mapping, Sequence

from streamviz.core.blocks import MediaStreamBlock, StreamBlock, StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, object_in
from streamviz.core.wire.gemini_arguments import assemble


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
            call: JsonObject = {"name": block.name, "args": {**object_in(block.text), **assemble(pieces)}}
            return {**began, "functionCall": {"id": block.id, **call} if block.id else call}
        case ThinkingStreamBlock():
            signature = {"thoughtSignature": block.signature} if block.signature else {}
            return {**began, "text": block.text, "thought": True, **signature}
        case _:
            return {**began, "text": block.text} if block.kind is BlockKind.CONTENT else began


def media_parts(label: str, text: str) -> list[JsonObject]:
    """The parts of a media block, under the wire's name for them: a sound has one for each line."""
    return [{label: said} for line in text.split("\n") if (said := object_in(line))]
