"""What can happen in a stream: the one vocabulary for live view, history, export and tests.

Events are frozen values. A block is known by its `ordinal`, its place in the order in which the stream's blocks began.
Each event has its counterpart in AG-UI: BlockStarted a `…Start`, BlockDelta a `…Content` or `…Args`, BlockSealed an
`…End`, StreamFinished `RunFinished`, StreamFailed `RunError`.
"""

from enum import StrEnum

import msgspec

MALFORMED_CHUNK = "malformed_chunk"
# Upstream says one thing twice, and differently: a client may put together something other than what was judged.
CONTRADICTION = "contradiction"
PROCESSING_ERROR = "processing_error"


class BlockKind(StrEnum):
    """What a block holds."""

    CONTENT = "content"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    REFUSAL = "refusal"
    MEDIA = "media"
    OTHER = "other"

    @property
    def is_opaque(self) -> bool:
        """Whether the text of such a block is the wire's own JSON rather than words."""
        return self in (BlockKind.MEDIA, BlockKind.OTHER)

    @property
    def is_text(self) -> bool:
        """Whether such a block is words to read."""
        return self in (BlockKind.CONTENT, BlockKind.THINKING, BlockKind.REFUSAL)


class BlockStarted(msgspec.Struct, frozen=True, gc=False, tag="block_started"):
    """A block began. `index` is the wire's own number for it, `label` the wire's own word for an `other` block, for
    media, or for a tool call that is not an ordinary function call."""

    ordinal: int
    kind: BlockKind
    choice: int = 0
    index: int | None = None
    id: str = ""
    name: str = ""
    label: str = ""


class BlockDelta(msgspec.Struct, frozen=True, gc=False, tag="block_delta"):
    """A block grew by `text`; a late `id` or `name`, or a `signature` over its thinking, may come with it.

    On a block that was complete it means that the block is open again.
    """

    ordinal: int
    text: str = ""
    id: str = ""
    name: str = ""
    signature: str = ""


class BlockCompleted(msgspec.Struct, frozen=True, gc=False, tag="block_completed"):
    """A block is whole as far as can be told now; `truncated` when the input ended before it did."""

    ordinal: int
    truncated: bool = False


class BlockSealed(msgspec.Struct, frozen=True, gc=False, tag="block_sealed"):
    """A complete block can no longer grow."""

    ordinal: int


class UsageUpdated(msgspec.Struct, frozen=True, tag="usage_updated"):
    """The tokens used so far, as upstream counts and names them; `tier` is the service tier named beside them."""

    usage: dict[str, object]
    tier: str = ""


class StreamFinished(msgspec.Struct, frozen=True, gc=False, tag="stream_finished"):
    """Upstream said why a choice ended; usage may still follow."""

    reason: str
    choice: int = 0


class StreamFailed(msgspec.Struct, frozen=True, gc=False, tag="stream_failed"):
    """Upstream reported an error in mid-stream, or sent something that cannot be read (`kind` is then MALFORMED_CHUNK)
    or can be read in two ways (CONTRADICTION), or streamviz itself failed (PROCESSING_ERROR). The latter two do not by
    themselves make a stream fail."""

    message: str
    kind: str = ""
    code: str = ""


def processing_error(what: str, error: Exception) -> StreamFailed:
    """The event for a failure of streamviz itself."""
    return StreamFailed(f"streamviz failed: {what} ({type(error).__name__}: {error})", kind=PROCESSING_ERROR)


StreamEvent = BlockStarted | BlockDelta | BlockCompleted | BlockSealed | UsageUpdated | StreamFinished | StreamFailed
