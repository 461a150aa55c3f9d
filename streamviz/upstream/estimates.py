"""How many tokens a call took: as its provider reported, or else estimated from its texts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from streamviz.core.blocks import StreamState, ToolCallStreamBlock
from streamviz.core.json_value import as_list, encode
from streamviz.core.request import ModelCall
from streamviz.core.tokens import Tokens
from streamviz.core.usage import CHARACTERS_A_TOKEN
from streamviz.core.wire import OPENAI_CHAT, WIRE_FORMATS

# How many pieces of a long text are sampled, and how many characters each has.
_PIECES, _PIECE = 8, 500
# Of more messages only some are counted: a megabyte can have tens of thousands.
_MOST_MESSAGES = 1_000
# A request this long may have just as many parts, or parts of parts, in one message.
_LONG_BYTES = 100_000
_DEPTH = 3
# No word is as long.
_DATA_CHARACTERS = 500


def _by_length(text: str) -> int:
    return -(-len(text) // CHARACTERS_A_TOKEN)


_count: Callable[[str], int] = _by_length


def count_by(tokenizer: Callable[[str], int]) -> None:
    """Count with a tokenizer from now on; until then four characters count as a token."""
    global _count
    _count = tokenizer


def estimate_tokens(texts: Sequence[str]) -> int:
    """About how many tokens these texts are, whatever the model's own tokenizer is. Long texts are sampled, so that
    none takes longer than another."""
    text = "".join(texts)
    if len(text) <= _PIECES * _PIECE:
        return _count(text)
    starts = range(0, len(text) - _PIECE, (len(text) - _PIECE) // (_PIECES - 1))
    sample = [text[start : start + _PIECE] for start in starts]
    return sum(map(_count, sample)) * len(text) // sum(map(len, sample))


def tokens_of(state: StreamState, call: ModelCall) -> Tokens:
    """The tokens of a call that is over; without an answer, only what its provider reported."""
    told = state.tokens
    if not state.blocks and state.usage is None:
        return told
    asked, said = told.input, told.output
    # Anthropic's format reports a number at the beginning too, and 0 is not a count of any text.
    is_told = said is not None and bool(state.finish_reasons) and (said > 0 or not state.length)
    # Clients' SDKs want a number before anybody knows one, and get 0: no request has 0 tokens.
    if asked and is_told:
        return told
    if not is_told:
        said = max(said or 0, estimate_tokens(_said_texts(state)))
    return told._replace(input=asked or asked_tokens(call), output=said, is_estimated=True)


def asked_tokens(call: ModelCall) -> int:
    """About how many tokens a request has."""
    turns = WIRE_FORMATS.get(call.wire_format, OPENAI_CHAT).turns
    said = as_list(call.fields.get(turns))
    if call.size > _LONG_BYTES:
        said = _taken_apart(said)
    # An odd step, because every other message is the person's.
    step = len(said) // _MOST_MESSAGES | 1
    if step == 1:
        return estimate_tokens(_asked_texts(call))
    rest = replace(call, fields={**call.fields, turns: []})
    some = ModelCall(call.wire_format, {turns: said[::step]})
    return estimate_tokens(_asked_texts(rest)) + step * estimate_tokens(_asked_texts(some))


def _taken_apart(said: list[object]) -> list[object]:
    """The messages, or their parts if there are few messages: one can have just as many parts."""
    for _ in range(_DEPTH):
        if len(said) > _MOST_MESSAGES:
            break
        said = [part for each in said for part in _parts(each)]
    return said


def _parts(value: object) -> list[object]:
    if not isinstance(value, dict):
        return as_list(value) or [value]
    lists = [member for member in value.values() if isinstance(member, list)]
    rest = {name: member for name, member in value.items() if not isinstance(member, list)}
    return [rest, *chain.from_iterable(lists)]


def _asked_texts(call: ModelCall) -> list[str]:
    tools = call.fields.get("tools")
    texts = [text for text in call.texts if len(text) < _DATA_CHARACTERS or not _is_data(text)]
    return [*texts, encode(tools).decode()] if tools else texts


def _is_data(text: str) -> bool:
    """Whether it is an image or a file, as base64."""
    beginning = text[:_DATA_CHARACTERS]
    return len(beginning) == _DATA_CHARACTERS and beginning.isascii() and " " not in beginning


def _said_texts(state: StreamState) -> list[str]:
    """The texts of an answer; an image, for example, is not counted."""
    said = [block.text for block in state.blocks if not block.kind.is_opaque]
    return said + [block.name for block in state.blocks if isinstance(block, ToolCallStreamBlock)]
