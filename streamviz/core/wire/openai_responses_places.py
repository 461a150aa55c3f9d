"""Which of the client's items a block belongs to, and whether it keeps its place there."""

from collections.abc import Sequence

import msgspec

from streamviz.core.calls import FREE_TEXT
from streamviz.core.events import BlockKind, BlockStarted, StreamEvent
from streamviz.core.json_value import JsonObject, as_index
from streamviz.core.wire.compaction import COMPACTION
from streamviz.core.wire.openai_responses_calls import CALLS
from streamviz.core.wire.openai_responses_items import ITEM_TYPES, OutputItem
from streamviz.core.wire.translation import has_no_place_elsewhere

_PARTS = (BlockKind.CONTENT, BlockKind.REFUSAL, BlockKind.OTHER, BlockKind.MEDIA, BlockKind.THINKING)


def type_of(event: BlockStarted) -> str:
    """The type of a block's item, by the block alone."""
    if (event.kind is BlockKind.TOOL_CALL or event.kind.is_opaque) and event.label:
        return event.label
    return ITEM_TYPES.get(event.kind, "")


def made_by_call(event: BlockStarted) -> bool:
    """Whether a block was made by the call in the same item."""
    return event.kind is BlockKind.MEDIA and event.label in CALLS


def continues(item: OutputItem, event: BlockStarted) -> bool:
    """Whether a block goes into an item that has begun: as another part, as what a call made, or as its first."""
    if item.is_done:
        return False
    if item.type == "message":
        return event.kind in _PARTS
    if made_by_call(event):
        return True
    return not item.blocks and item.type == type_of(event)


def is_beside_call(item: OutputItem, event: BlockStarted) -> bool:
    """Whether a block replaces what a call made, if the call went out before."""
    return bool(item.blocks) and item.blocks[0].block.kind is BlockKind.TOOL_CALL and event.kind is BlockKind.CONTENT


def is_in_place(item: OutputItem, payload: JsonObject, events: Sequence[StreamEvent]) -> bool:
    """Whether a part of a message has the same place for the client as for upstream."""
    index = as_index(payload.get("content_index"))
    if index is None:
        return True
    begins = any(isinstance(event, BlockStarted) for event in events)
    return index == len(item.blocks) if begins else index < len(item.blocks)


def is_carried(item: OutputItem, payload: JsonObject) -> bool:
    """Whether a frame is about nothing that was changed."""
    if not item.is_ours:
        return True
    index = as_index(payload.get("content_index"))
    return item.type == "message" and index is not None and not item.blocks[index].is_ours


def in_own_words(event: BlockStarted) -> BlockStarted | None:
    """Another format's block as one of this format; None if it has no place here."""
    if event.label == COMPACTION:
        return event
    if has_no_place_elsewhere(event):
        return None
    label = "custom_tool_call" if event.label in FREE_TEXT else ""
    return msgspec.structs.replace(event, label=label) if event.label else event
