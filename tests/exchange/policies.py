"""Policies with predictable verdicts, for the tests of exchanges."""

from collections.abc import Callable

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.policy import Consult, Policy
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Verdict


class DenyRequests(Policy):
    kind = "deny_requests"
    parameters_schema = {}

    def on_request(self, call: ModelCall, context: StreamingContext) -> Verdict:
        return Verdict(Decision.DENY, "not today")


class AskAboutCalls(Policy):
    """Holds each call and asks a model about it; `read` turns the answer into the verdict."""

    kind = "ask_about_calls"
    parameters_schema = {}

    def __init__(self, read: Callable[[str], Verdict]) -> None:
        self._read = read

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Consult | None:
        return Consult("m", "", "", self._read) if block.kind is BlockKind.TOOL_CALL else None


class Ends(Policy):
    """Counts the streams whose end it was told about."""

    kind = "ends"
    parameters_schema = {}
    seen = 0

    def on_finish(self, state: StreamState, context: StreamingContext) -> None:
        self.seen += 1


class Looks(Policy):
    """Looks at the chunks itself, and lets all of them through."""

    kind = "looks"
    parameters_schema = {}

    async def on_chunk(self, chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
        if chunk is not None:
            context.send(chunk)


class HaltCalls(Policy):
    kind = "halt_calls"
    parameters_schema = {}

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Verdict | None:
        return Verdict(Decision.HALT, "no", "[halted]") if block.kind is BlockKind.TOOL_CALL else None


class AskAboutRequests(Policy):
    kind = "ask_about_requests"
    parameters_schema = {}

    def on_request(self, call: ModelCall, context: StreamingContext) -> Consult:
        return Consult("m", "", "", as_said)


def as_said(answer: str) -> Verdict:
    """The decision that the model names."""
    return Verdict(Decision(answer), "as the model said", "[as said]")


def halt_calls() -> HaltCalls:
    return HaltCalls({})


def deny_requests() -> DenyRequests:
    return DenyRequests({})
