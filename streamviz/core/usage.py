"""Token counts in one vocabulary, whatever a wire calls them."""

from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_index, as_object

Path = tuple[str, ...]

# How long a token is on average, in case the provider has not said how many there were.
CHARACTERS_A_TOKEN = 4


class Usage(NamedTuple):
    """Tokens as upstream counted them; None is unknown, which is not 0.

    What a count includes is up to the provider: Anthropic's `input_tokens` leave out what came from or went to the
    cache, and Gemini's `output_tokens` leave out the thinking.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


# Where each count may be, in the order of Usage's fields; the first one found counts.
_CHAT: tuple[tuple[Path, ...], ...] = (
    (("prompt_tokens",),),
    (("completion_tokens",),),
    (("total_tokens",),),
    (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
    (("prompt_tokens_details", "cached_tokens"), ("cached_tokens",), ("prompt_cache_hit_tokens",)),
)
_MESSAGES_AND_RESPONSES: tuple[tuple[Path, ...], ...] = (
    (("input_tokens",),),
    (("output_tokens",),),
    (("total_tokens",),),
    (("output_tokens_details", "reasoning_tokens"), ("output_tokens_details", "thinking_tokens")),
    (("input_tokens_details", "cached_tokens"), ("cache_read_input_tokens",)),
)
_GEMINI: tuple[tuple[Path, ...], ...] = (
    (("promptTokenCount",),),
    (("candidatesTokenCount",),),
    (("totalTokenCount",),),
    (("thoughtsTokenCount",),),
    (("cachedContentTokenCount",),),
)


def normalise(usage: JsonObject) -> Usage:
    """The counts of a usage object of any wire format."""
    return Usage(*[_first(usage, paths) for paths in _paths(usage)])


def _paths(usage: JsonObject) -> tuple[tuple[Path, ...], ...]:
    # Some gateways put `input_tokens` of 0 beside the real `prompt_tokens`: the chat names decide.
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return _CHAT
    return _GEMINI if "promptTokenCount" in usage or "totalTokenCount" in usage else _MESSAGES_AND_RESPONSES


def _first(usage: JsonObject, paths: tuple[Path, ...]) -> int | None:
    for *parents, last in paths:
        counts = usage
        for key in parents:
            counts = as_object(counts.get(key))
        if (value := counts.get(last)) is not None and (count := as_index(value)) is not None:
            return count
    return None
