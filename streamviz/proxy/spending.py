"""What a stream may come to when it begins, and what it came to."""

from streamviz.core.context import SessionCounts
from streamviz.core.events import BlockKind
from streamviz.core.model_names import REPLAY
from streamviz.core.outcome import Outcome
from streamviz.core.request import ModelCall
from streamviz.core.tokens import Tokens
from streamviz.core.usage import CHARACTERS_A_TOKEN
from streamviz.core.wire import WIRE_FORMATS
from streamviz.exchange.stream import LiveStream
from streamviz.records.tallies import Amounts
from streamviz.upstream.estimates import asked_tokens, tokens_of
from streamviz.upstream.prices import most_output, price

# A client may ask for so many answers, of so many tokens each, that the totals could not represent the sum.
_MOST_TOKENS = 2**40


def amounts_of(call: ModelCall, model: str, provider: str) -> Amounts:
    """The most that a request can come to at the model that is called."""
    if provider == REPLAY:
        return Amounts(0, 0.0)
    wire_format = WIRE_FORMATS[call.wire_format]
    known = 0 if wire_format.is_of_numbers else wire_format.most_tokens(call.fields) or most_output(model, provider)
    if known is None:
        return Amounts(None, None)
    tokens = min(known * wire_format.answers_asked(call.fields), _MOST_TOKENS)
    return Amounts(tokens, price(model, provider, Tokens(call.length // CHARACTERS_A_TOKEN, tokens)))


def most_of(stream: LiveStream) -> Amounts:
    """The most that a stream may come to. Nothing if it calls no model itself, as each call of a run makes its own
    reservation."""
    if not stream.calls_model:
        return Amounts(0, 0.0)
    return amounts_of(stream.context.request, stream.upstream_model, stream.provider)


def add_up(stream: LiveStream) -> None:
    """Set the tokens and the cost of a stream that ended: as reported by the provider, or else estimated. A run took no
    tokens and has no cost, as its calls are streams with their own. What never went upstream has no count of tokens."""
    if not stream.calls_model and stream.life.was_forwarded:
        stream.tokens, stream.cost = Tokens(0, 0), None
        return
    stream.tokens = tokens_of(stream.state, stream.context.request)
    if stream.tokens.output is None and _is_billed(stream):
        stream.tokens = Tokens(asked_tokens(stream.context.request), 0, is_estimated=True)
    stream.cost = price(stream.upstream_model, stream.provider, stream.tokens)


def _is_billed(stream: LiveStream) -> bool:
    """Whether its provider took the request, even if nobody waited for the answer."""
    return stream.life.was_forwarded and stream.outcome != Outcome.UPSTREAM_ERROR


def spent_by(stream: LiveStream) -> SessionCounts:
    """What a stream adds to its session's counts, once its own tokens and cost are set."""
    state, tokens = stream.state, stream.tokens or Tokens()
    calls = sum(block.kind is BlockKind.TOOL_CALL for block in state.blocks)
    spent = SessionCounts(streams=1, blocks=len(state.blocks), tool_calls=calls)
    if tokens.output is None or stream.provider == REPLAY:
        return spent
    spent.is_estimate, spent.output_tokens = tokens.is_estimated, tokens.output
    spent.cost, spent.unpriced = stream.cost or 0.0, int(stream.cost is None and stream.calls_model)
    return spent
