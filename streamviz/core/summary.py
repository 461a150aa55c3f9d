"""A stream as plain JSON values: what `manage.py aggregate` prints and exports contain."""

from collections.abc import Iterable

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.call_runners import PROVIDER_RUN
from streamviz.core.calls import is_ordinary
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject


def summary(state: StreamState) -> JsonObject:
    """finish_reason, usage as upstream sent it, and the blocks in the order in which they began."""
    return {
        "finish_reason": state.finish_reason,
        "usage": state.usage,
        "blocks": _told(state.blocks),
    }


def _told(blocks: Iterable[StreamBlock]) -> list[JsonObject]:
    """The blocks. What a provider's call made is in the call, as in the expected results of recorded streams."""
    told: list[JsonObject] = []
    calls: dict[int | None, JsonObject] = {}
    for block in blocks:
        if block.kind is BlockKind.MEDIA and block.label in PROVIDER_RUN and block.index in calls:
            calls[block.index]["text"] = block.text
            continue
        told.append(_block(block))
        if block.kind is BlockKind.TOOL_CALL:
            calls[block.index] = told[-1]
    return told


def _block(block: StreamBlock) -> JsonObject:
    common: JsonObject = {"type": str(block.kind), "choice": block.choice, "index": block.index, "id": block.id}
    if isinstance(block, ToolCallStreamBlock):
        call: JsonObject = {**common, "name": block.name, "arguments": block.arguments}
        # The expected results of recorded streams have the calls of typed tools and of the provider's own as `other`.
        return (
            call if is_ordinary(block.label) or block.is_free_text else {**call, "type": "other", "kind": block.label}
        )
    if isinstance(block, OtherStreamBlock):
        return {**common, "name": block.name or None, "kind": block.label, "text": block.text}
    return {**common, "name": None, "text": block.text}
