"""The wire formats: for each, an aggregator that reads it, composers that write it, and its other properties."""

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.json_value import JsonObject
from streamviz.core.wire.formats import (
    ANTHROPIC_MESSAGES,
    EMBEDDINGS,
    GEMINI,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    PASSED_THROUGH,
)
from streamviz.core.wire_format import WireFormat

__all__ = [
    "AGGREGATORS",
    "ANTHROPIC_MESSAGES",
    "BODY_COMPOSERS",
    "COMPOSERS",
    "EMBEDDINGS",
    "GEMINI",
    "LINTERS",
    "LINT_RULES",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "PASSED_THROUGH",
    "WIRE_FORMATS",
]

# The formats that clients use, by name.
_ALL = (OPENAI_CHAT, ANTHROPIC_MESSAGES, OPENAI_RESPONSES, GEMINI, EMBEDDINGS, PASSED_THROUGH)
WIRE_FORMATS: dict[str, WireFormat] = {known.name: known for known in _ALL}
AGGREGATORS: dict[str, type[Aggregator[Chunk, JsonObject]]] = {
    name: known.aggregator for name, known in WIRE_FORMATS.items()
}
# A composer of streams is given the message's own fields, one of bodies the whole answer. Either may still be empty
# then, and is filled as chunks come, so composers read it anew each time.
COMPOSERS = {name: known.composer for name, known in WIRE_FORMATS.items()}
BODY_COMPOSERS = {name: known.body_composer for name, known in WIRE_FORMATS.items()}
LINTERS = {name: known.linter for name, known in WIRE_FORMATS.items() if known.linter is not None}
# What each rule of the linters demands, by its name; formats that share a name demand the same.
LINT_RULES: dict[str, str] = {name: demand for linter in LINTERS.values() for name, demand in linter.rules.items()}
