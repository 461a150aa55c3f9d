"""The starter policies on calls in OpenAI's responses, read by the format's own aggregator."""

import json
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.verdicts import Decision
from streamviz.core.wire import AGGREGATORS
from streamviz.policies import build
from tests.policies.support import context, judge

RM = "rm -rf ~"
HARMFUL: list[dict[str, Any]] = [
    {"type": "local_shell_call", "action": {"type": "exec", "command": ["bash", "-lc", RM], "env": {}}},
    {"type": "shell_call", "action": {"commands": ["ls", RM], "timeout_ms": 1}},
    {"type": "custom_tool_call", "name": "shell", "input": RM},
    {"type": "mcp_approval_request", "server_label": "box", "name": "run", "arguments": json.dumps({"command": RM})},
    {"type": "function_call", "name": "shell", "arguments": json.dumps({"command": ["rm", "-rf", "/"]})},
]
OFFERED = [
    {"type": "local_shell"},
    {"type": "shell"},
    {"type": "custom", "name": "shell"},
    {"type": "mcp", "server_label": "box"},
]


def read(item: dict[str, Any]) -> ToolCallStreamBlock:
    """The block of a stream that consists of this item."""
    whole = {"id": "i", "call_id": "c", "status": "completed", **item}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [whole]}},
    ]
    aggregator = AGGREGATORS["openai_responses"](run_id="r")
    for seq, event in enumerate(events):
        data = json.dumps(event).encode()
        aggregator.aggregate(Chunk(seq, seq, data, data))
    aggregator.close()
    [block] = aggregator.state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    return block


@pytest.mark.parametrize("item", HARMFUL, ids=lambda item: item["type"])
def test_the_guard_reads_calls_as_the_wire_words_them(item: dict[str, Any]) -> None:
    offered = context({"tools": OFFERED}, "openai_responses")
    harmless = json.loads(json.dumps(item).replace("rm", "ls"))
    assert judge(build("shell_rule", {}), read(item), offered).decision is Decision.DENY
    assert judge(build("shell_rule", {}), read(harmless), offered).decision is Decision.ALLOW
    assert judge(build("tool_schema", {}), read(item), offered).decision is Decision.ALLOW
