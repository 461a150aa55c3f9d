"""Translating between formats: why a response ended, the tokens it took, and which blocks only one format has."""

from collections.abc import Callable
from enum import StrEnum
from functools import partial

from streamviz.core.call_runners import Runner, runner_of
from streamviz.core.events import BlockStarted
from streamviz.core.json_value import JsonObject, as_index
from streamviz.core.tokens import Tokens, tokens_of
from streamviz.core.wire.openai_chat_endings import FAILED

OPENAI_CHAT = "openai_chat"
ANTHROPIC_MESSAGES = "anthropic_messages"
OPENAI_RESPONSES = "openai_responses"
GEMINI = "gemini"


class Ending(StrEnum):
    """Why a response ended, in no format's words. ENDED is STOP or CALLS: some formats do not distinguish these, and
    some providers get them wrong."""

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
        # What some providers send instead.
        "max_tokens": Ending.LENGTH,
        "model_length": Ending.LENGTH,
        "model_context_window_exceeded": Ending.LENGTH,
        "sensitive": Ending.FILTERED,
        **dict.fromkeys(FAILED, Ending.FAILED),
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
# A failure is reported by an error; the finish_reason beside it is the format's most neutral one.
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


def has_no_place_elsewhere(event: BlockStarted) -> bool:
    """Whether no other format has a place for a block: it is media, of a kind that only its format has, or a call that
    its provider runs."""
    return event.kind.is_opaque or runner_of(event.label) is Runner.PROVIDER


def ending_of(reason: str, source: str) -> Ending:
    """What a finish_reason of the format `source` means; an unknown one counts as an ordinary end."""
    return _READ[source].get(reason, Ending.ENDED)


def is_cut_off(reason: str, source: str) -> bool:
    """Whether this finish_reason of the format `source` says that the response ended before its model was done."""
    return ending_of(reason, source) not in (Ending.ENDED, Ending.STOP, Ending.CALLS)


def translate_reason(reason: str, source: str, target: str, *, has_calls: bool) -> str:
    """A finish_reason of one format as one of another; `has_calls` says whether there were tool calls of the client's
    own, which some clients run only if the reason says so."""
    if source == target:
        return reason
    if is_cut_off(reason, source):
        return _WRITTEN[target][ending_of(reason, source)]
    return _WRITTEN[target][Ending.CALLS if has_calls else Ending.STOP]


def translate_usage(usage: JsonObject, source: str, target: str) -> JsonObject:
    """Usage of one format in the terms of another; unknown counts are left out."""
    if source == target:
        return usage
    tokens = tokens_of(usage)
    whole, output = tokens.input, tokens.output
    total = as_index(usage.get("total_tokens")) if whole is None or output is None else whole + output
    return _USAGE[target](tokens, total)


def _openai(input: str, output: str, tokens: Tokens, total: int | None) -> JsonObject:
    """OpenAI's two formats differ only in the words for input and output."""
    read = _known(cached_tokens=tokens.cache_read, cache_write_tokens=tokens.cache_written) or None
    thought = _known(reasoning_tokens=tokens.reasoning) or None
    counts = {f"{input}_tokens": tokens.input, f"{output}_tokens": tokens.output}
    details = {f"{input}_tokens_details": read, f"{output}_tokens_details": thought}
    return _known(**counts, **details, total_tokens=total)


def _messages(tokens: Tokens, total: int | None) -> JsonObject:
    """Anthropic's input excludes what came from the cache and what was written to it."""
    cached = (tokens.cache_read or 0) + (tokens.cache_written or 0)
    return _known(
        input_tokens=None if tokens.input is None else max(0, tokens.input - cached),
        output_tokens=tokens.output,
        cache_read_input_tokens=tokens.cache_read,
        cache_creation_input_tokens=tokens.cache_written,
    )


def _gemini(tokens: Tokens, total: int | None) -> JsonObject:
    """Gemini's output excludes the thinking."""
    return _known(
        promptTokenCount=tokens.input,
        candidatesTokenCount=None if tokens.output is None else max(0, tokens.output - (tokens.reasoning or 0)),
        totalTokenCount=total,
        thoughtsTokenCount=tokens.reasoning,
        cachedContentTokenCount=tokens.cache_read,
    )


_USAGE: dict[str, Callable[[Tokens, int | None], JsonObject]] = {
    OPENAI_CHAT: partial(_openai, "prompt", "completion"),
    ANTHROPIC_MESSAGES: _messages,
    OPENAI_RESPONSES: partial(_openai, "input", "output"),
    GEMINI: _gemini,
}


def _known(**values: object) -> JsonObject:
    return {key: value for key, value in values.items() if value is not None}
