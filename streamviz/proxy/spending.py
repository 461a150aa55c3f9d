"""What a stream may come to when it begins, and what it came to."""

from streamviz.core.context import SessionCounts
from streamviz.core.events import BlockKind
from streamviz.core.json_value import as_index
from streamviz.core.request import ModelCall
from streamviz.core.usage import CHARACTERS_A_TOKEN, Usage, normalise
from streamviz.live.streams import LiveStream
from streamviz.records.tallies import Amounts
from streamviz.upstream.prices import most_output, price

# The fields that bound an answer, by format: providers ignore those of another's.
_MOST = {
    "openai_chat": ("max_completion_tokens", "max_tokens"),
    "anthropic_messages": ("max_tokens",),
    "openai_responses": ("max_output_tokens",),
}


def amounts_of(call: ModelCall, model: str, provider: str) -> Amounts:
    """The most that a request can come to at the model that is called."""
    asked = [most for name in _MOST[call.wire_format] if (most := as_index(call.fields.get(name)))]
    known = max(asked) if asked else most_output(model, provider)
    if known is None:
        return Amounts(None, None)
    answers = as_index(call.fields.get("n")) if call.wire_format == "openai_chat" else 1
    tokens = known * max(1, answers or 1)
    return Amounts(tokens, price(model, provider, call.length // CHARACTERS_A_TOKEN, tokens))


def spent_by(stream: LiveStream) -> SessionCounts:
    """What a stream that ended came to: tokens as the provider told them, else estimated."""
    state = stream.state
    calls = sum(block.kind is BlockKind.TOOL_CALL for block in state.blocks)
    spent = SessionCounts(streams=1, blocks=len(state.blocks), tool_calls=calls)
    if not state.blocks and state.usage is None:
        return spent
    usage = normalise(state.usage) or Usage()
    asked, said = usage.input_tokens, usage.output_tokens
    spent.is_estimate = asked is None or said is None
    asked = stream.context.request.length // CHARACTERS_A_TOKEN if asked is None else asked
    spent.output_tokens = state.length // CHARACTERS_A_TOKEN if said is None else said
    cost = price(stream.upstream_model, stream.provider, asked, spent.output_tokens)
    spent.cost, spent.unpriced = cost or 0.0, int(cost is None)
    return spent
