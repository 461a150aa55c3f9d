"""The tokens of a call in one normal form, whatever the provider's counts include.

The input is all input, including what was read from a cache and what was written to one, which are also given
separately; the output is all output, including the thinking, which is also given separately. Providers differ in what
their counts include: Anthropic's `input_tokens` leave out what came from and went to the cache, Gemini's
`candidatesTokenCount` and xAI's `completion_tokens` the thinking. Their own words stay as they are in
`StreamState.usage`.
"""

from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_index, as_object, as_text, is_number, objects
from streamviz.core.usage import normalise

# Gemini's names for service tiers. Others have the names that prices go by.
_TIERS = {"on_demand": "", "on_demand_priority": "priority", "on_demand_flex": "flex"}
# More than anybody pays for a call.
MOST_DOLLARS = 10**6
_DETAILS = {
    "prompt": ("prompt_tokens_details", "input_tokens_details"),
    "completion": ("completion_tokens_details", "output_tokens_details"),
}
_ANTHROPICS = frozenset(("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"))
# The names that OpenAI, OpenRouter and gateways use; the first one found counts.
_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")


class Tokens(NamedTuple):
    """The tokens of a call; None is unknown, which is not 0.

    `cache_read` and `cache_written` are parts of `input`, `reasoning` is a part of `output`. The rest says which parts
    have another price: `written_1h` and `written_12h` are the parts of `cache_written` that are kept for that long,
    `cached_audio` is a part of `cache_read`. `tier` is the service tier (`flex`, `priority`, `batch`, …; empty for the
    standard one), `speed` and `region` are Anthropic's, `searches` the web searches that it made and bills. `told_cost`
    is the provider's own price (US dollars). `is_estimated` says that the provider gave no count, so `input` or
    `output` is estimated.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_written: int | None = None
    reasoning: int | None = None
    written_1h: int = 0
    written_12h: int = 0
    input_audio: int = 0
    input_image: int = 0
    cached_audio: int = 0
    output_audio: int = 0
    output_image: int = 0
    searches: int = 0
    tier: str = ""
    speed: str = ""
    region: str = ""
    told_cost: float | None = None
    is_estimated: bool = False


def tokens_of(usage: JsonObject | None, tier: str = "") -> Tokens:
    """A usage object of any wire format in the normal form; `tier` is the service tier if it is given separately."""
    if usage is None:
        return Tokens()
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        tokens = _of_openai(usage)
    elif "promptTokenCount" in usage or "totalTokenCount" in usage:
        tokens = _of_gemini(usage)
    elif "input_tokens_details" not in usage and not _ANTHROPICS.isdisjoint(usage):
        tokens = _of_anthropic(usage)
    else:
        tokens = _of_openai(usage)
    told = next((name for key in ("service_tier", "serviceTier", "trafficType") if (name := usage.get(key))), tier)
    name, cost = as_text(told).lower(), _told_cost(usage)
    return tokens if not name and cost is None else tokens._replace(tier=_TIERS.get(name, name), told_cost=cost)


def _of_openai(usage: JsonObject) -> Tokens:
    """Usage of chat completions and of responses, whose counts include their parts, or should."""
    counts = normalise(usage)
    asked, said = _details(usage, "prompt"), _details(usage, "completion")
    read = _first(usage, "cache_read_input_tokens") if counts.cached_tokens is None else counts.cached_tokens
    written = _known(_first(asked, *_WRITTEN), _first(usage, *_WRITTEN))
    by_life = as_object(asked.get("cache_write_tokens_details"))
    return Tokens(
        input=_whole(counts.input_tokens, read, written),
        output=_with_reasoning(counts.output_tokens, counts.reasoning_tokens, counts.total_tokens, counts.input_tokens),
        cache_read=read,
        cache_written=written,
        reasoning=counts.reasoning_tokens,
        written_1h=_first(as_object(usage.get("cache_creation")), "ephemeral_1h_input_tokens") or 0,
        written_12h=_first(by_life, "ttl_12h_tokens") or 0,
        input_audio=_first(asked, "audio_tokens") or 0,
        input_image=_first(asked, "image_tokens") or 0,
        cached_audio=_first(as_object(asked.get("cached_tokens_details")), "audio_tokens") or 0,
        output_audio=_first(said, "audio_tokens") or 0,
        output_image=_first(said, "image_tokens") or 0,
    )


def _of_anthropic(usage: JsonObject) -> Tokens:
    counts = normalise(usage)
    # Compacting the conversation is billed, and reported nowhere else.
    compacted = [each for each in objects(usage.get("iterations")) if each.get("type") == "compaction"]
    parts = [usage, *compacted]
    read = _sum(*(_first(part, "cache_read_input_tokens") for part in parts))
    written = _sum(*(_first(part, "cache_creation_input_tokens") for part in parts))
    fresh = _sum(counts.input_tokens, *(_first(part, "input_tokens") for part in compacted))
    by_life = (as_object(part.get("cache_creation")) for part in parts)
    return Tokens(
        input=None if counts.input_tokens is None else _sum(fresh, read, written),
        output=_sum(counts.output_tokens, *(_first(part, "output_tokens") for part in compacted)),
        cache_read=read,
        cache_written=written,
        reasoning=counts.reasoning_tokens,
        written_1h=_sum(*(_first(each, "ephemeral_1h_input_tokens") for each in by_life)) or 0,
        searches=_first(as_object(usage.get("server_tool_use")), "web_search_requests") or 0,
        speed=as_text(usage.get("speed")),
        region=as_text(usage.get("inference_geo")),
    )


def _of_gemini(usage: JsonObject) -> Tokens:
    """Gemini's usage, which leaves out counts of 0: the total shows what is missing."""
    counts = normalise(usage)
    asked = _sum(counts.input_tokens, _first(usage, "toolUsePromptTokenCount"))
    said, total = _sum(counts.output_tokens, counts.reasoning_tokens), counts.total_tokens
    if asked is not None and total is not None and total >= asked:
        said = total - asked
    return Tokens(
        input=_whole(asked, counts.cached_tokens) if counts.input_tokens is not None else None,
        output=said,
        cache_read=counts.cached_tokens,
        reasoning=counts.reasoning_tokens,
        input_audio=_of_modality(usage, "promptTokensDetails", "AUDIO"),
        input_image=_of_modality(usage, "promptTokensDetails", "IMAGE"),
        cached_audio=_of_modality(usage, "cacheTokensDetails", "AUDIO"),
        output_audio=_of_modality(usage, "candidatesTokensDetails", "AUDIO"),
        output_image=_of_modality(usage, "candidatesTokensDetails", "IMAGE"),
    )


def _whole(counted: int | None, *parts: int | None) -> int | None:
    """A count that includes its parts: one that is smaller than they are leaves them out, so they are added."""
    within = sum(part or 0 for part in parts)
    return counted + within if counted is not None and within > counted else counted


def _with_reasoning(counted: int | None, reasoning: int | None, total: int | None, asked: int | None) -> int | None:
    """All output. A provider's count of it may leave out the thinking, which the total shows."""
    if counted is not None and reasoning and asked is not None and total == asked + counted + reasoning:
        return counted + reasoning
    return _whole(counted, reasoning)


def _told_cost(usage: JsonObject) -> float | None:
    """The provider's own price. Perplexity has it in parts; OpenRouter's is only its fee if a key of the client's own
    pays for the model."""
    told = usage.get("cost")
    cost = _dollars(as_object(told).get("total_cost") if isinstance(told, dict) else told)
    paid = _dollars(as_object(usage.get("cost_details")).get("upstream_inference_cost"))
    return cost if cost is None or usage.get("is_byok") is not True else cost + (paid or 0.0)


def _dollars(value: object) -> float | None:
    return float(value) if is_number(value) and 0 <= value < MOST_DOLLARS else None


def _details(usage: JsonObject, of: str) -> JsonObject:
    for key in _DETAILS[of]:
        if found := as_object(usage.get(key)):
            return found
    return {}


def _of_modality(usage: JsonObject, key: str, modality: str) -> int:
    return sum(
        as_index(each.get("tokenCount")) or 0
        for each in objects(usage.get(key))
        if as_text(each.get("modality")).upper() == modality
    )


def _first(counts: JsonObject, *names: str) -> int | None:
    for name in names:
        if (value := counts.get(name)) is not None and (count := as_index(value)) is not None:
            return count
    return None


def _known(*counts: int | None) -> int | None:
    for count in counts:
        if count is not None:
            return count
    return None


def _sum(*counts: int | None) -> int | None:
    """The sum of what is known; None if nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
