"""What a policy of one's own may use: all that the hooks of `Policy` take and give, and nothing that may change unsaid.

docs/policies.md says how to write one. These names stay; what else the project has inside may move with any release.
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
