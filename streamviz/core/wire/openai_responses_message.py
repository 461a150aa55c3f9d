"""The non-streaming answer of OpenAI's responses, from blocks.

Format: https://platform.openai.com/docs/api-reference/responses/object.
"""

from collections.abc import Mapping, Sequence

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.calls import as_input
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire.openai_responses_call_item import call_item
from streamviz.core.wire.openai_responses_words import SPEECH, said_in

# The fields of a response that say nothing of its output.
_FIELDS = frozenset(
    {"id", "object", "created_at", "completed_at", "status", "error", "incomplete_details", "instructions", "metadata"}
    | {"model", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "background", "conversation"}
    | {"max_output_tokens", "max_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "billing"}
    | {"prompt_cache_retention", "prompt_cache_options", "reasoning", "safety_identifier", "service_tier", "store"}
    | {"text", "tool_usage", "top_logprobs", "truncation", "user", "usage", "moderation", "content_filters"}
)


def kept_head(response: JsonObject) -> JsonObject:
    """The fields of a response that stay where something of its output was changed: those that are known, and what
    can repeat no text.
    """
    return {key: value for key, value in response.items() if key in _FIELDS or isinstance(value, bool | int | float)}


def text_of(items: Sequence[JsonObject]) -> str:
    """The text of all messages, as `output_text` tells it."""
    parts = [part for item in items if item.get("type") == "message" for part in objects(item.get("content"))]
    return "".join(as_text(part.get("text")) for part in parts if part.get("type") == "output_text")


def build_response(state: StreamState, head: JsonObject, items: Mapping[int, JsonObject]) -> JsonObject:
    """A `response` of all blocks. `head` gives its other fields, `items` upstream's own items by place."""
    blocks: dict[int, list[StreamBlock]] = {index: [] for index in sorted(items)}
    for block in state.blocks:
        if is_speech(block.kind, block.label if isinstance(block, OtherStreamBlock) else ""):
            continue  # its part has it
        blocks.setdefault(block.index or 0, []).append(block)
    response: JsonObject = {"id": "", "object": "response", "created_at": 0, "model": "", **head}
    response["status"] = state.finish_reason or "incomplete"
    response["output"] = [item_of(group, items.get(index, {})) for index, group in blocks.items()]
    response["usage"] = state.usage
    return response


def item_of(blocks: Sequence[StreamBlock], told: JsonObject) -> JsonObject:
    """The item that `blocks` make; what events do not carry (annotations, results) is taken from `told`, upstream's."""
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


def part_of(block: StreamBlock, told: JsonObject) -> JsonObject:
    """A message's part."""
    if block.kind is BlockKind.REFUSAL:
        return {"type": "refusal", "refusal": block.text}
    if isinstance(block, OtherStreamBlock):
        return {**as_input(block.text), **told, "type": block.label}
    if block.kind is BlockKind.THINKING:
        return {**told, "type": "reasoning_text", "text": block.text}
    if told.get("type") == SPEECH:
        return {**told, "transcript": block.text}
    return {"annotations": [], **told, "type": "output_text", "text": block.text}


def is_speech(kind: BlockKind, label: str) -> bool:
    """Whether a block is the sound of a message's part, whose text is another block."""
    return kind is BlockKind.MEDIA and label == SPEECH


def other_item(label: str, id: str, name: str, text: str, told: JsonObject) -> JsonObject:
    """An item that is no call, message or reasoning: its payload is JSON text, or text that came in deltas."""
    if told:
        return told
    item: JsonObject = {"id": id, "status": "completed"}
    if name:
        item["name"] = name
    if label.endswith("_output"):
        # Clients tell results apart by the calls that they are of.
        item["call_id"] = id
    return {**item, **(as_input(text) or ({"text": text} if text else {})), "type": label}


def payload_of(details: JsonObject) -> JsonObject:
    """What an item or a part holds beside its own description."""
    return {key: value for key, value in details.items() if key not in ("type", "id", "status") and value is not None}


def _made_by(blocks: Sequence[StreamBlock]) -> JsonObject:
    """The image that a call made, where it is finished."""
    if blocks[-1].kind is not BlockKind.MEDIA:
        return {}
    made = as_input(blocks[-1].text.rpartition("\n")[2])
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
