"""Policies of which the tests of exchanges know what they say."""

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
    """Holds each call until a model has said of it what `read` makes of its answer."""

    kind = "ask_about_calls"
    parameters_schema = {}

    def __init__(self, read: Callable[[str], Verdict]) -> None:
        self._read = read

    def holds(self, block: StreamBlock) -> bool:
        return block.kind is BlockKind.TOOL_CALL

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Consult | None:
        return Consult("m", "", "", self._read) if block.kind is BlockKind.TOOL_CALL else None


class Ends(Policy):
    """Counts how often a stream ended for it."""

    kind = "ends"
    parameters_schema = {}
    seen = 0

    def on_finish(self, state: StreamState, context: StreamingContext) -> None:
        self.seen += 1


class Looks(Policy):
    """Looks at the chunks itself, and lets each go on."""

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
