"""Which of upstream's members are kept in a Gemini answer if verdicts change something else in it.

Providers repeat texts in members that nobody reads, so once a verdict changes anything, only those members are kept
that are known to repeat nothing.
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
    """Upstream's own parts, each with its blocks, and rewritten parts in place of those not kept."""
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
    """The members beside the candidates; all of them as long as verdicts have changed nothing."""
    return {name: value for name, value in payload.items() if not is_changed or name in TOP}


def kept_candidate(candidate: JsonObject, reason: str | None, is_changed: bool) -> JsonObject:
    """The members beside a candidate's content; `reason` is the finish reason that the client is to get."""
    kept = {name: value for name, value in candidate.items() if not is_changed or name in _CANDIDATE}
    kept.pop("content", None)
    if reason is not None and reason != as_text(kept.get("finishReason")):
        kept["finishReason"] = reason
    return kept
