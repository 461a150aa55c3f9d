"""A stream in terms of OpenTelemetry's GenAI conventions: attributes, and what happened within it as steps.

Our own attributes, for which the conventions have no names, begin with `streamviz.`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from streamviz.core.blocks import StreamState
from streamviz.core.events import BlockKind
from streamviz.core.json_value import as_index, is_number
from streamviz.core.model_names import SIMULATOR
from streamviz.core.outcome import Outcome
from streamviz.core.tokens import Tokens
from streamviz.core.wire import WIRE_FORMATS
from streamviz.exchange.stream import LiveStream

Value = str | bool | int | float | list[str]
Attributes = dict[str, Value]

_SECOND = 1_000_000
# Faster verdicts are not steps of their own (µs): a rule takes some tens.
_LONG_VERDICT = 1_000
_MOST_STEPS = 100
# Longer texts of clients, models and providers are cut to this many characters.
_LONGEST_NAME = 300
_MOST_TOOL_CALLS = 50
_MOST_ANSWERS = 50
_LARGEST = 10**9

# LiteLLM's names of providers, and the conventions'.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "codestral": "mistral_ai",
    "cohere_chat": "cohere",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_FAILURES = (Outcome.UPSTREAM_ERROR, Outcome.INTERRUPTED)


class Step(NamedTuple):
    """Something that happened within a stream, from when to when (µs since the epoch); `error` names what went wrong,
    if anything."""

    name: str
    began_at: int
    ended_at: int
    attributes: Mapping[str, Value]
    error: str = ""


def operation_of(stream: LiveStream) -> str:
    """The conventions' name for such a call; empty if they have none, as for calls that are passed through."""
    return WIRE_FORMATS[stream.wire_format].operation


def provider_of(stream: LiveStream) -> str:
    """The conventions' name for its provider."""
    return _PROVIDERS.get(stream.provider, stream.provider) or SIMULATOR


def step_of(stream: LiveStream) -> Step:
    """The stream itself, once it has ended."""
    ended_at = stream.ended_at or stream.requested_at
    name = f"{operation_of(stream)} {stream.requested_model[:_LONGEST_NAME]}"
    return Step(name, stream.requested_at, ended_at, attributes_of(stream), error_of(stream))


def error_of(stream: LiveStream) -> str:
    """What went wrong: the status that the client got, or else the outcome."""
    if stream.outcome not in _FAILURES:
        return ""
    return str(stream.status) if stream.status is not None and stream.status >= 400 else stream.outcome


def attributes_of(stream: LiveStream) -> Attributes:
    """What is known of a stream that ended, without anything said in it."""
    found: dict[str, Value | None] = {
        "gen_ai.operation.name": operation_of(stream),
        "gen_ai.provider.name": provider_of(stream),
        "gen_ai.request.model": stream.requested_model[:_LONGEST_NAME],
        "gen_ai.request.stream": stream.is_streaming,
        "gen_ai.response.model": _text(stream.head.get("model")) or stream.upstream_model[:_LONGEST_NAME],
        "gen_ai.response.id": _text(stream.head.get("id")),
        "gen_ai.response.time_to_first_chunk": first_chunk_seconds(stream),
        "gen_ai.conversation.id": (stream.session_name or str(stream.session_id))[:_LONGEST_NAME],
        "streamviz.stream": str(stream.id),
        "streamviz.outcome": stream.outcome,
        "streamviz.key": stream.key_name,
        "streamviz.chunks": len(stream.times.received_at),
        "streamviz.cost_dollars": stream.cost,
        "streamviz.executor": stream.executor,
        "streamviz.part": stream.part,
        **_answered(stream.state),
        **_usage(stream.tokens or Tokens()),
        **_asked(stream),
    }
    return {name: value for name, value in found.items() if value is not None and value not in ("", [])}


def first_chunk_seconds(stream: LiveStream) -> float | None:
    """From the request to upstream's first delta."""
    first = stream.times.upstream_first_at
    return None if first is None else max(0, first - stream.requested_at) / _SECOND


def steps_in(stream: LiveStream) -> Iterator[Step]:
    """The holds of blocks, and the verdicts that took long."""
    yield from list(_holds(stream))[:_MOST_STEPS]
    yield from list(_verdicts(stream))[:_MOST_STEPS]


def _holds(stream: LiveStream) -> Iterator[Step]:
    for ordinal, hold in stream.context.holds.items():
        told: Attributes = {
            "streamviz.block": ordinal,
            "streamviz.policies": list(hold.policies),
            "streamviz.is_denied": hold.is_denied,
        }
        yield Step("hold", hold.since, hold.ended_at or stream.ended_at or hold.since, told)


def _verdicts(stream: LiveStream) -> Iterator[Step]:
    for judgement in stream.context.judgements:
        if judgement.took < _LONG_VERDICT:
            continue
        name, decision = judgement.policy.name, str(judgement.verdict.decision)
        told: Attributes = {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.label": decision,
            "streamviz.mode": str(judgement.policy.mode),
            "streamviz.subject": str(judgement.subject),
            "streamviz.is_by_hand": bool(judgement.by),
        }
        if judgement.ordinal is not None:
            told["streamviz.block"] = judgement.ordinal
        error = "nobody_answered" if judgement.is_unanswered else "policy_failed" if judgement.failure else ""
        yield Step(f"judge {name}", judgement.at - judgement.took, judgement.at, told, error)


def _usage(tokens: Tokens) -> dict[str, int | None]:
    return {
        "gen_ai.usage.input_tokens": tokens.input,
        "gen_ai.usage.output_tokens": tokens.output,
        "gen_ai.usage.cache_read.input_tokens": tokens.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": tokens.cache_written,
        "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
    }


def _asked(stream: LiveStream) -> dict[str, int | float | None]:
    fields = stream.context.request.fields
    fields = {**fields, **WIRE_FORMATS[stream.wire_format].settings_of(fields)}
    most = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
    return {
        "gen_ai.request.max_tokens": next((count for name in most if (count := as_index(fields.get(name)))), None),
        "gen_ai.request.temperature": _number(fields.get("temperature")),
        "gen_ai.request.top_p": _number(fields.get("top_p", fields.get("topP"))),
    }


def _answered(state: StreamState) -> dict[str, list[str]]:
    """Upstream's own words; none after a contradiction, which may be among them."""
    if state.contradiction:
        return {}
    reasons = sorted(state.finish_reasons.items())
    calls = [block.name[:_LONGEST_NAME] for block in state.blocks if block.kind is BlockKind.TOOL_CALL]
    return {
        "gen_ai.response.finish_reasons": [reason[:_LONGEST_NAME] for _, reason in reasons[:_MOST_ANSWERS]],
        "streamviz.tool_calls": calls[:_MOST_TOOL_CALLS],
    }


def _text(value: object) -> str:
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if is_number(value) and abs(value) < _LARGEST else None
