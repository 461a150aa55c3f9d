"""What of upstream's own words is kept in an answer of Gemini's that verdicts change elsewhere.

Providers repeat a text in members that nobody reads, so where a verdict changes something only those are kept that are
known to repeat none.
"""

from collections.abc import Sequence, Set

from streamviz.core.json_value import JsonObject, as_text

TOP = ("usageMetadata", "modelVersion", "responseId", "createTime")
_CANDIDATE = ("index", "finishReason", "safetyRatings", "tokenCount")


def mixed(
    parts: Sequence[tuple[JsonObject, list[int]]],
    anew: Sequence[tuple[int, JsonObject]],
    touched: Set[int],
) -> list[JsonObject]:
    """Upstream's own parts, each with its blocks, and those that are said anew in place of the ones not kept."""
    kept: list[JsonObject] = []
    said: dict[int, list[JsonObject]] = {}
    for ordinal, made in anew:
        said.setdefault(ordinal, []).append(made)
    for part, ordinals in parts:
        if touched.isdisjoint(ordinals):
            kept += [part] if ordinals else []
        for ordinal in ordinals:
            kept += said.pop(ordinal, ())
    return kept + [made for rest in said.values() for made in rest]


def kept_top(payload: JsonObject, is_changed: bool) -> JsonObject:
    """What stands beside the candidates; all of it as long as verdicts have changed nothing."""
    return {name: value for name, value in payload.items() if not is_changed or name in TOP}


def kept_candidate(candidate: JsonObject, reason: str | None, is_changed: bool) -> JsonObject:
    """What stands beside a candidate's content; `reason` is why it ends, as the client is to get it."""
    kept = {name: value for name, value in candidate.items() if not is_changed or name in _CANDIDATE}
    kept.pop("content", None)
    if reason is not None and reason != as_text(kept.get("finishReason")):
        kept["finishReason"] = reason
    return kept
