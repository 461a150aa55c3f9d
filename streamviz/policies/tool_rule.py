"""tool_rule: denies tool calls by name and by what is in their arguments."""

import re
from fnmatch import fnmatchcase

from streamviz.core.blocks import StreamBlock, ToolCallStreamBlock
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.policy import ALLOW, Decision, Policy, StreamingContext, Verdict


class ToolRule(Policy):
    """Denies a call whose name matches one of `names` and whose arguments match one of `arguments`."""

    kind = "tool_rule"
    parameters_schema = {"type": "object"}

    def __init__(self, parameters: JsonObject) -> None:
        self.names = [as_text(name) for name in as_list(parameters.get("names"))]
        self.patterns = [re.compile(as_text(as_object(a).get("pattern"))) for a in as_list(parameters.get("arguments"))]
        self.text = as_text(parameters.get("text")) or "[A tool call was denied by policy.]"

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        if not isinstance(block, ToolCallStreamBlock):
            return None
        if self.names and not any(fnmatchcase(block.name, name) for name in self.names):
            return ALLOW
        if self.patterns and not any(p.search(block.arguments) for p in self.patterns):
            return ALLOW
        return Verdict(Decision.DENY, f"{block.name} matches", self.text)
