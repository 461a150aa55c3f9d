"""Building the items of OpenAI's responses from blocks."""

from collections.abc import Sequence

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object, object_in, objects
from streamviz.core.wire.openai_responses_call_item import call_item
from streamviz.core.wire.openai_responses_parts import part_of
from streamviz.core.wire.openai_responses_words import said_in


def item_of(blocks: Sequence[StreamBlock], told: JsonObject) -> JsonObject:
    """The item that `blocks` make; what events do not carry (annotations, results) is taken from upstream's, `told`."""
    first = blocks[0] if blocks else None
    match first:
        case ToolCallStreamBlock():
            return {**call_item(first, told), **_made_by(blocks)}
        case ThinkingStreamBlock() if told.get("type", "reasoning") == "reasoning":
            return _reasoning(first, told)
        case OtherStreamBlock() if told.get("type") != "message":
            return other_item(first.label, first.id, first.name, first.text, told)
        case None:
            return told
        case _:
            return _message(blocks, told)


def other_item(label: str, id: str, name: str, text: str, told: JsonObject) -> JsonObject:
    """An item that is not a call, a message or reasoning: its payload is JSON text, or text that came in deltas."""
    if told:
        return told
    item: JsonObject = {"id": id, "status": "completed"}
    if name:
        item["name"] = name
    if label.endswith("_output"):
        # Clients match results with calls by it.
        item["call_id"] = id
    return {**item, **(object_in(text) or ({"text": text} if text else {})), "type": label}


def _made_by(blocks: Sequence[StreamBlock]) -> JsonObject:
    """The image that a call made, if it is finished."""
    if blocks[-1].kind is not BlockKind.MEDIA:
        return {}
    made = object_in(blocks[-1].text.rpartition("\n")[2])
    return {key: made[key] for key in ("result", "output_format") if key in made}


def _reasoning(block: ThinkingStreamBlock, told: JsonObject) -> JsonObject:
    item: JsonObject = {"id": block.id, "summary": [], **told, "type": "reasoning"}
    if block.text and not said_in(told):
        item["summary"] = [{"type": "summary_text", "text": block.text}]
    if block.signature:
        item["encrypted_content"] = block.signature
    return item


def _message(blocks: Sequence[StreamBlock], told: JsonObject) -> JsonObject:
    parts = [as_object(part) for part in objects(told.get("content"))]
    parts += [{}] * (len(blocks) - len(parts))
    content = [part_of(block, part) for block, part in zip(blocks, parts, strict=False)]
    common = {"id": blocks[0].id, "role": "assistant", "status": "completed"}
    return {**common, **told, "type": "message", "content": content}
