"""What your own policies may use: all that the hooks of `Policy` take and return.

docs/policies.md explains how to write one. The names here are stable; anything else in the project may change with any
release.
"""

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import (
    ContentStreamBlock,
    MediaStreamBlock,
    OtherStreamBlock,
    RefusalStreamBlock,
    StreamBlock,
    StreamState,
    ThinkingStreamBlock,
    ToolCallStreamBlock,
)
from streamviz.core.call_runners import Runner
from streamviz.core.context import SessionCounts, StreamingContext
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import Consult, Edit, Policy, Reading, Tail
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import ALLOW, Decision, Verdict

__all__ = [
    "ALLOW",
    "BlockCompleted",
    "BlockDelta",
    "BlockKind",
    "BlockSealed",
    "BlockStarted",
    "Chunk",
    "Consult",
    "ContentStreamBlock",
    "Decision",
    "Edit",
    "JsonObject",
    "MediaStreamBlock",
    "ModelCall",
    "OtherStreamBlock",
    "Policy",
    "PolicyParametersError",
    "Reading",
    "RefusalStreamBlock",
    "Runner",
    "SessionCounts",
    "StreamBlock",
    "StreamEvent",
    "StreamFailed",
    "StreamFinished",
    "StreamState",
    "StreamingContext",
    "Tail",
    "ThinkingStreamBlock",
    "ToolCallStreamBlock",
    "UsageUpdated",
    "Verdict",
]
