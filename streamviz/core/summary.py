"""A stream as plain JSON values: what `manage.py aggregate` prints and exports hold."""

from streamviz.core.blocks import OtherStreamBlock, StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.calls import is_ordinary
from streamviz.core.json_value import JsonObject


def summary(state: StreamState) -> JsonObject:
    """finish_reason, usage as upstream sent it, and the blocks in the order in which they began."""
    return {
        "finish_reason": state.finish_reason,
        "usage": state.usage,
        "blocks": [_block(block) for block in state.blocks],
    }


def _block(block: StreamBlock) -> JsonObject:
    common: JsonObject = {"type": str(block.kind), "choice": block.choice, "index": block.index, "id": block.id}
    if isinstance(block, ToolCallStreamBlock):
        call: JsonObject = {**common, "name": block.name, "arguments": block.arguments}
        # Recorded streams' expected results tell the calls of typed tools and of the provider's own as `other`.
        return (
            call if is_ordinary(block.label) or block.is_free_text else {**call, "type": "other", "kind": block.label}
        )
    if isinstance(block, OtherStreamBlock):
        return {**common, "name": block.name or None, "kind": block.label, "text": block.text}
    return {**common, "name": None, "text": block.text}
