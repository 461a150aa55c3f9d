"""The frames of a message stream: how a block begins, and how it goes on."""

from dataclasses import dataclass, field

from streamviz.core import sse
from streamviz.core.events import BlockDelta, BlockKind
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.wire.anthropic_messages_calls import call_part, has_input
from streamviz.core.wire.anthropic_messages_message import other_part

# How each kind of block begins, and the delta that it grows by.
_EMPTY: dict[BlockKind, JsonObject] = {
    BlockKind.CONTENT: {"type": "text", "text": ""},
    BlockKind.REFUSAL: {"type": "text", "text": ""},
    BlockKind.THINKING: {"type": "thinking", "thinking": "", "signature": ""},
}
_DELTAS = {
    BlockKind.CONTENT: ("text_delta", "text"),
    BlockKind.REFUSAL: ("text_delta", "text"),
    BlockKind.THINKING: ("thinking_delta", "thinking"),
    BlockKind.TOOL_CALL: ("input_json_delta", "partial_json"),
}


@dataclass(slots=True)
class OpenBlock:
    """A block that the client gets. `index` is None until its start is written; deltas that come earlier wait.

    `began` is what is kept of upstream's start if the block is a call without `input`.
    """

    kind: BlockKind
    label: str
    id: str
    name: str
    index: int | None = None
    began: JsonObject = field(default_factory=dict)
    waiting: list[BlockDelta] = field(default_factory=list)
    is_ended: bool = False


def is_streamed(block: OpenBlock) -> bool:
    """Whether a block's text goes out as it comes; the others are written whole at their end."""
    if block.kind.is_opaque:
        return bool(block.name)
    if block.kind is BlockKind.TOOL_CALL and not has_input(block.label):
        # Clients add up the pieces of an input only for types that they know.
        return False
    return block.label != "redacted_thinking"


def start_of(block: OpenBlock) -> JsonObject:
    """The `content_block` that a block starts with."""
    if block.kind is BlockKind.TOOL_CALL:
        name = next((delta.name for delta in reversed(block.waiting) if delta.name), block.name)
        id = next((delta.id for delta in reversed(block.waiting) if delta.id), block.id)
        given = "" if has_input(block.label) else "".join(delta.text for delta in block.waiting)
        return call_part(block.label, id, name, given, block.began)
    if block.label == "redacted_thinking":
        return {"type": block.label, "data": "".join(delta.signature for delta in block.waiting)}
    if block.kind.is_opaque:
        text = "" if block.name else "".join(delta.text for delta in block.waiting)
        return other_part(block.label, block.id, block.name, text, {})
    return _EMPTY[block.kind]


def delta_frames(block: OpenBlock, event: BlockDelta) -> list[bytes]:
    """The frames for what an event adds to a block."""
    word, name = _DELTAS.get(block.kind, ("input_json_delta", "partial_json"))
    deltas: list[JsonObject] = [{"type": word, name: event.text}] if event.text else []
    if event.signature and block.kind is BlockKind.THINKING:
        deltas.append({"type": "signature_delta", "signature": event.signature})
    return [written("content_block_delta", {"index": block.index, "delta": delta}) for delta in deltas]


def written(name: str, fields: JsonObject) -> bytes:
    """One event as a frame."""
    return sse.write_event(encode({"type": name, **fields}), name)
