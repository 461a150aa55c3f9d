"""What a stream may come to when it begins, and what it came to."""

from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.context import SessionCounts
from streamviz.core.events import BlockKind
from streamviz.core.json_value import encode
from streamviz.core.request import ModelCall
from streamviz.core.tokens import Tokens
from streamviz.core.usage import CHARACTERS_A_TOKEN
from streamviz.core.wire import WIRE_FORMATS
from streamviz.exchange.stream import LiveStream
from streamviz.records.tallies import Amounts
from streamviz.upstream.estimates import estimate_tokens
from streamviz.upstream.prices import most_output, price

# No word is as long.
_DATA_CHARACTERS = 500


def amounts_of(call: ModelCall, model: str, provider: str) -> Amounts:
    """The most that a request can come to at the model that is called."""
    wire_format = WIRE_FORMATS[call.wire_format]
    known = wire_format.most_tokens(call.fields) or most_output(model, provider)
    if known is None:
        return Amounts(None, None)
    tokens = known * wire_format.answers_asked(call.fields)
    return Amounts(tokens, price(model, provider, Tokens(call.length // CHARACTERS_A_TOKEN, tokens)))


def add_up(stream: LiveStream) -> None:
    """Set the tokens and the cost of a stream that ended: as the provider told them, else estimated."""
    stream.tokens = _tokens_of(stream)
    stream.cost = price(stream.upstream_model, stream.provider, stream.tokens)


def _tokens_of(stream: LiveStream) -> Tokens:
    state = stream.state
    told = state.tokens
    if not state.blocks and state.usage is None:
        return told
    # A client's SDK wants a number before anybody knows one, and gets a 0: no request is nothing.
    asked, said = told.input or None, told.output
    # Anthropic's format tells a number at first, too.
    is_told = said is not None and bool(state.finish_reasons)
    if asked is None:
        asked = estimate_tokens(_asked_texts(stream.context.request))
    if not is_told:
        said = max(said or 0, estimate_tokens(_said_texts(state)))
    return told._replace(input=asked, output=said, is_estimated=not told.input or not is_told)


def _asked_texts(call: ModelCall) -> list[str]:
    tools = call.fields.get("tools")
    texts = [text for turn in call.turns for text in turn.texts if not _is_data(text)]
    return [*texts, encode(tools).decode()] if tools else texts


def _is_data(text: str) -> bool:
    """Whether it is a picture or a file, as base64."""
    beginning = text[:_DATA_CHARACTERS]
    return len(beginning) == _DATA_CHARACTERS and beginning.isascii() and " " not in beginning


def _said_texts(state: StreamState) -> list[str]:
    """What is no text, as a picture, is not counted."""
    said = [block.text for block in state.blocks if block.kind is not BlockKind.OTHER]
    return said + [block.name for block in state.blocks if isinstance(block, ToolCallStreamBlock)]


def spent_by(stream: LiveStream) -> SessionCounts:
    """What a stream adds to its session's counts, once it is added up itself."""
    state, tokens = stream.state, stream.tokens or Tokens()
    calls = sum(block.kind is BlockKind.TOOL_CALL for block in state.blocks)
    spent = SessionCounts(streams=1, blocks=len(state.blocks), tool_calls=calls)
    if tokens.output is None:
        return spent
    spent.is_estimate, spent.output_tokens = tokens.is_estimated, tokens.output
    spent.cost, spent.unpriced = stream.cost or 0.0, int(stream.cost is None)
    return spent
