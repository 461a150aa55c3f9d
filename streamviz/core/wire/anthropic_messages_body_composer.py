"""Writing Anthropic's messages: a whole `message`, rebuilt from upstream's."""

from collections.abc import Sequence

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.body_composer import BodyComposer, said_by
from streamviz.core.call_runners import Runner
from streamviz.core.events import BlockKind, StreamFailed
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.wire.anthropic_messages import AnthropicMessagesAggregator
from streamviz.core.wire.anthropic_messages_calls import kept_of
from streamviz.core.wire.anthropic_messages_message import owner_of, part_of, parts_of
from streamviz.core.wire.anthropic_messages_writer import FINISH_WITHOUT_ANY, FINISH_WITHOUT_CALLS, error_body

# The members kept when an answer is rebuilt; any other might repeat what was changed.
_KEPT = frozenset("id type role model stop_sequence stop_details container context_management usage".split())


class AnthropicMessagesBodyComposer(BodyComposer):
    """Rebuilds a whole answer from upstream's, `body`: blocks that no policy touched stay as they are, the others are
    built from what the policies left of them."""

    finish_without_calls = FINISH_WITHOUT_CALLS
    finish_without_any = FINISH_WITHOUT_ANY
    finish_halted = "refusal"

    def _anew(self, state: StreamState) -> JsonObject:
        kept = {key: value for key, value in self._body.items() if key in _KEPT}
        reason = state.finish_reason or self._body.get("stop_reason")
        return {**kept, "content": self._content(state.blocks), "stop_reason": reason}

    def fail(self, failure: StreamFailed) -> bytes:
        return encode(error_body(failure.message, failure.kind))

    def _content(self, blocks: Sequence[StreamBlock]) -> list[JsonObject]:
        content: list[JsonObject] = []
        denied: set[str] = set()
        has_calls = False
        parts = parts_of(self._body.get("content"))
        for block, own, part in zip(blocks, self._own_blocks(), parts, strict=False):
            if own.kind is BlockKind.TOOL_CALL and block.kind is not BlockKind.TOOL_CALL:
                denied.add(own.id)
            if _is_same(block, own):
                content += [part] if not owner_of(part) or owner_of(part) not in denied else []
            elif block.kind is not BlockKind.CONTENT or not has_calls:
                # Providers reject text after a tool call in the next turn.
                content.append(part_of(block, kept_of(part)))
            has_calls = has_calls or (isinstance(block, ToolCallStreamBlock) and block.runner is Runner.CLIENT)
        # The text of a policy that halts the answer comes after all of upstream's blocks.
        return content if has_calls else [*content, *(part_of(block, {}) for block in blocks[len(parts) :])]

    def _own_blocks(self) -> Sequence[StreamBlock]:
        """The blocks as upstream sent them."""
        aggregator = AnthropicMessagesAggregator()
        data = encode(self._body)
        aggregator.aggregate(Chunk(0, 0, data, data))
        return aggregator.state.blocks


def _is_same(block: StreamBlock, own: StreamBlock) -> bool:
    return said_by(block) == said_by(own)
