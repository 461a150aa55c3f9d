"""What the composers of whole answers share: a body that is one JSON value, rebuilt from upstream's own."""

from abc import abstractmethod
from collections.abc import Sequence

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState, ThinkingStreamBlock, ToolCallStreamBlock
from streamviz.core.composer import Composer
from streamviz.core.events import BlockStarted, StreamEvent
from streamviz.core.json_value import JsonObject, encode


class BodyComposer(Composer):
    """Rebuilds a whole answer from upstream's, `body`, if a verdict changes something in it. `body` is empty until that
    answer has come."""

    def __init__(self, body: JsonObject) -> None:
        self._body = body

    def passed(self, events: Sequence[StreamEvent], chunk: Chunk | None = None) -> None:
        """Do nothing: nothing follows an answer that went out whole."""

    def compose(self, events: Sequence[StreamEvent]) -> list[bytes]:
        if not any(isinstance(event, BlockStarted) for event in events):
            # The body came as one chunk; these are what the end of input adds.
            return []
        state = StreamState()
        for event in events:
            state.apply(event)
        return [encode(self._anew(state))]

    def keep_alive(self) -> bytes:
        # White space before a JSON value means nothing.
        return b" "

    @abstractmethod
    def _anew(self, state: StreamState) -> JsonObject:
        """The answer made of what the policies left, `state`."""


def stays(own: StreamBlock, blocks: Sequence[StreamBlock]) -> bool:
    """Whether one of upstream's blocks goes out as it came, if the client gets `blocks`; a policy may have ended the
    answer before it."""
    return own.ordinal < len(blocks) and said_by(blocks[own.ordinal]) == said_by(own)


def said_by(block: StreamBlock) -> tuple[str, ...]:
    """What clients get of a block: if it is the same for two blocks, one may stand for the other."""
    name = block.name if isinstance(block, ToolCallStreamBlock) else ""
    signature = block.signature if isinstance(block, ThinkingStreamBlock) else ""
    return block.kind, block.text, name, signature
