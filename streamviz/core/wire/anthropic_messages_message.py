"""A non-streaming answer of Anthropic's messages, from blocks.

Format: https://docs.anthropic.com/en/api/messages.
"""

from collections.abc import Mapping

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.json_value import JsonObject, as_text, object_in, objects
from streamviz.core.wire.anthropic_messages_calls import call_part


def build_message(state: StreamState, head: JsonObject, parts: Mapping[int, JsonObject]) -> JsonObject:
    """A `message` of all blocks. `head` gives its other fields, `parts` how each block began, by ordinal."""
    message: JsonObject = {"id": "", "type": "message", "role": "assistant", "model": "", **head}
    message["content"] = [part_of(block, parts.get(block.ordinal, {})) for block in state.blocks]
    message["stop_reason"] = state.finish_reason
    message.setdefault("stop_sequence", None)
    message["usage"] = state.usage or {"input_tokens": 0, "output_tokens": 0}
    return message


def part_of(block: StreamBlock, began: JsonObject) -> JsonObject:
    """The content block of `block`; what events do not carry (citations, who called a tool) is taken from `began`."""
    match block:
        case ThinkingStreamBlock() if began.get("type") == "redacted_thinking":
            return {"type": "redacted_thinking", "data": block.signature}
        case ThinkingStreamBlock():
            return {**began, "type": "thinking", "thinking": block.text, "signature": block.signature}
        case ToolCallStreamBlock():
            return call_part(block.label, block.id, block.name, block.text, began)
        case OtherStreamBlock():
            return other_part(block.label, block.id, block.name, block.text, began)
        case _:
            return {**began, "type": "text", "text": block.text}


def parts_of(content: object) -> list[JsonObject]:
    """The content blocks of a message; a string among them, or in place of the list, is a text block."""
    listed = content if isinstance(content, list) else [content]
    whole = [{"type": "text", "text": each} if isinstance(each, str) and each else each for each in listed]
    return objects(whole)


def owner_of(part: JsonObject) -> str:
    """The id of the call that a content block is the result of; empty if it is not a result."""
    return as_text(part.get("tool_use_id")) if as_text(part.get("type")).endswith("_tool_result") else ""


def other_part(label: str, id: str, name: str, text: str, began: JsonObject) -> JsonObject:
    """A block of a server tool, or of any other type: its payload is JSON text, or text that came in deltas."""
    payload = object_in(text)
    if name:
        return {"id": id, "name": name, **began, "type": label, "input": payload}
    if payload:
        return {**began, **payload, "type": label}
    return {**began, "type": label, "content": text} if text else {**began, "type": label}
