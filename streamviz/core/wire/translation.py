"""What the formats say alike in other words: why a response ended, and the tokens it took."""

from enum import StrEnum

from streamviz.core.json_value import JsonObject, as_index
from streamviz.core.usage import normalise

OPENAI_CHAT = "openai_chat"
ANTHROPIC_MESSAGES = "anthropic_messages"
OPENAI_RESPONSES = "openai_responses"
GEMINI = "gemini"


class Ending(StrEnum):
    """Why a response ended, in no format's words. ENDED is STOP or CALLS: some formats do not tell these apart."""

    ENDED = "ended"
    STOP = "stop"
    CALLS = "calls"
    LENGTH = "length"
    FILTERED = "filtered"
    FAILED = "failed"


_READ = {
    OPENAI_CHAT: {
        "stop": Ending.STOP,
        "tool_calls": Ending.CALLS,
        "function_call": Ending.CALLS,
        "length": Ending.LENGTH,
        "content_filter": Ending.FILTERED,
    },
    ANTHROPIC_MESSAGES: {
        "end_turn": Ending.STOP,
        "stop_sequence": Ending.STOP,
        "pause_turn": Ending.STOP,
        "tool_use": Ending.CALLS,
        "max_tokens": Ending.LENGTH,
        "model_context_window_exceeded": Ending.LENGTH,
        "refusal": Ending.FILTERED,
    },
    OPENAI_RESPONSES: {
        "completed": Ending.ENDED,
        "incomplete": Ending.LENGTH,
        "failed": Ending.FAILED,
        "cancelled": Ending.FAILED,
    },
    GEMINI: {
        "STOP": Ending.ENDED,
        "MAX_TOKENS": Ending.LENGTH,
        "SAFETY": Ending.FILTERED,
        "RECITATION": Ending.FILTERED,
        "BLOCKLIST": Ending.FILTERED,
        "PROHIBITED_CONTENT": Ending.FILTERED,
        "SPII": Ending.FILTERED,
        "IMAGE_SAFETY": Ending.FILTERED,
    },
}
# A failure is told by an error; the word beside it is the format's plainest.
_WRITTEN = {
    OPENAI_CHAT: {
        Ending.STOP: "stop",
        Ending.CALLS: "tool_calls",
        Ending.LENGTH: "length",
        Ending.FILTERED: "content_filter",
        Ending.FAILED: "stop",
    },
    ANTHROPIC_MESSAGES: {
        Ending.STOP: "end_turn",
        Ending.CALLS: "tool_use",
        Ending.LENGTH: "max_tokens",
        Ending.FILTERED: "refusal",
        Ending.FAILED: "end_turn",
    },
    OPENAI_RESPONSES: {
        Ending.STOP: "completed",
        Ending.CALLS: "completed",
        Ending.LENGTH: "incomplete",
        Ending.FILTERED: "incomplete",
        Ending.FAILED: "failed",
    },
    GEMINI: {
        Ending.STOP: "STOP",
        Ending.CALLS: "STOP",
        Ending.LENGTH: "MAX_TOKENS",
        Ending.FILTERED: "SAFETY",
        Ending.FAILED: "OTHER",
    },
}


def ending_of(reason: str, source: str) -> Ending:
    """What a finish_reason of the format `source` means; a word that is new counts as an ordinary end."""
    return _READ[source].get(reason, Ending.ENDED)


def translate_reason(reason: str, source: str, target: str, *, has_calls: bool) -> str:
    """A finish_reason of one format in the words of another; `has_calls` tells whether there were tool calls."""
    if source == target:
        return reason
    ending = ending_of(reason, source)
    if ending is Ending.ENDED:
        ending = Ending.CALLS if has_calls else Ending.STOP
    return _WRITTEN[target][ending]


def translate_usage(usage: JsonObject, source: str, target: str) -> JsonObject:
    """Usage of one format in the words of another; what is not known is left out."""
    if source == target:
        return usage
    counts = normalise(usage)
    assert counts is not None
    fresh, output, cached = counts.input_tokens, counts.output_tokens, counts.cached_tokens
    written = as_index(usage.get("cache_creation_input_tokens"))
    # OpenAI's input holds what came from the cache and Anthropic's does not; Gemini's output leaves out the thinking.
    whole = _sum(fresh, cached, written) if source == ANTHROPIC_MESSAGES else fresh
    if source == GEMINI:
        output = _sum(output, counts.reasoning_tokens)
    if target == ANTHROPIC_MESSAGES:
        return _known(
            input_tokens=None if whole is None else max(0, whole - (cached or 0)),
            output_tokens=output,
            cache_read_input_tokens=cached,
        )
    if target == GEMINI:
        return _gemini(whole, output, cached, counts.reasoning_tokens)
    total = counts.total_tokens if whole is None or output is None else whole + output
    read = _known(cached_tokens=cached) or None
    thought = _known(reasoning_tokens=counts.reasoning_tokens) or None
    if target == OPENAI_CHAT:
        names = ("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details")
    else:
        names = ("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")
    return _known(**dict(zip(names, (whole, output, read, thought), strict=True)), total_tokens=total)


def _gemini(whole: int | None, output: int | None, cached: int | None, thought: int | None) -> JsonObject:
    """Its output is without the thinking."""
    return _known(
        promptTokenCount=whole,
        candidatesTokenCount=None if output is None else max(0, output - (thought or 0)),
        totalTokenCount=None if whole is None or output is None else whole + output,
        thoughtsTokenCount=thought,
        cachedContentTokenCount=cached,
    )


def _sum(first: int | None, *others: int | None) -> int | None:
    return None if first is None else first + sum(other or 0 for other in others)


def _known(**values: object) -> JsonObject:
    return {key: value for key, value in values.items() if value is not None}
