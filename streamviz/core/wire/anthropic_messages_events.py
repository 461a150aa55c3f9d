"""What a single event of a message stream says: its name, and the content block that it begins."""

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_json_text, as_text
from streamviz.core.wire.anthropic_messages_calls import arguments_of, is_call

_KINDS = {
    "text": BlockKind.CONTENT,
    "thinking": BlockKind.THINKING,
    "redacted_thinking": BlockKind.THINKING,
    "tool_use": BlockKind.TOOL_CALL,
    "image": BlockKind.MEDIA,
}
_EVENTS = frozenset(
    {"message_start", "message_delta", "content_block_start", "content_block_delta", "content_block_stop"}
)


class EventNames:
    """The names of a stream's events. The SDKs skip events without a name, and go by the name first if there is one."""

    def __init__(self) -> None:
        # Whether events have a name, and a type in their data.
        self._told_by: tuple[bool, bool] | None = None

    def trouble(self, word: str, payload: JsonObject, name: str) -> str:
        """What is wrong with the name of an event whose type is `word`; empty if nothing is."""
        if word not in _EVENTS and name not in _EVENTS:
            return ""
        told = bool(name), "type" in payload
        self._told_by = self._told_by or told
        if told != self._told_by:
            return "some of its events have a name or a type and some have none"
        return "an event has the name of another" if name and payload.get("type", name) != name else ""


def kind_of(part: JsonObject) -> BlockKind:
    """The kind of a content block. Anything that may be a call counts as one, whatever its type."""
    label = as_text(part.get("type"))
    if label in _KINDS:
        return _KINDS[label]
    return BlockKind.TOOL_CALL if is_call(part) else BlockKind.OTHER


def is_repeated(block: StreamBlock, part: JsonObject) -> bool:
    """Whether the start of a call says nothing that the open call does not already say."""
    label = as_text(part.get("type"))
    is_same = isinstance(block, ToolCallStreamBlock) and label == (block.label or "tool_use")
    return is_same and not part.get("id") and not part.get("name")


def content_of(kind: BlockKind, part: JsonObject) -> tuple[str, str]:
    """The text and the signature that a block begins with."""
    if kind is BlockKind.CONTENT:
        return as_text(part.get("text")), ""
    if kind is BlockKind.THINKING:
        return as_text(part.get("thinking")), as_text(part.get("signature")) or as_text(part.get("data"))
    if kind is BlockKind.TOOL_CALL:
        return arguments_of(part), ""
    # Results of server tools, and types unknown here: the payload, if the block begins with any.
    payload = {key: value for key, value in part.items() if key != "type" and value is not None}
    return as_json_text(payload) if payload else "", ""
