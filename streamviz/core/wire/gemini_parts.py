"""The parts of Gemini's answers: which block each belongs to, and what is kept beside them.

Providers repeat a text in members that nobody reads, so where a verdict changes something only those are kept that are
known to repeat none.
"""

from collections import deque
from collections.abc import Iterator, Sequence, Set

from streamviz.core.calls import as_arguments, as_input, name_of
from streamviz.core.events import BlockDelta, StreamEvent
from streamviz.core.json_value import JsonObject, as_index, as_json_text, as_object, as_text, objects
from streamviz.core.wire.gemini import is_own_call
from streamviz.core.wire.gemini_beside import DESCRIPTIONS, own_arguments

TOP = ("usageMetadata", "modelVersion", "responseId", "createTime")
_CANDIDATE = ("index", "finishReason", "safetyRatings", "tokenCount")


def parts_of(candidate: JsonObject) -> list[JsonObject]:
    """The parts of a candidate's content."""
    return objects(as_object(candidate.get("content")).get("parts"))


def number_of(candidate: JsonObject, position: int) -> int:
    """Which candidate it is."""
    index = as_index(candidate.get("index"))
    return position if index is None else index


def owners_of(candidates: Sequence[JsonObject], read: Sequence[StreamEvent]) -> list[list[list[int]]] | None:
    """The ordinals of the blocks that each part of each candidate was `read` as; None where that cannot be told."""
    deltas = deque(event for event in read if isinstance(event, BlockDelta))
    found = [[_owners(part, deltas) for part in parts_of(candidate)] for candidate in candidates]
    return None if deltas else found


def _owners(part: JsonObject, deltas: deque[BlockDelta]) -> list[int]:
    return [deltas.popleft().ordinal for said in _said(part) if deltas and (deltas[0].text in said)]


def _said(part: JsonObject) -> Iterator[tuple[str, ...]]:
    """For each block that a part is of, the texts that it may have given to it."""
    text, call = part.get("text"), part.get("functionCall")
    if isinstance(text, str) and (text or part.get("thoughtSignature")):
        yield (text,)
    if isinstance(call, dict):
        yield (as_arguments(call["args"]),) if "args" in call else ("", "{}")
    labels = [name for name in part if name not in DESCRIPTIONS]
    own_calls = [label for label in labels if is_own_call(label, part[label])]
    for label in own_calls:
        said = as_object(part[label])
        yield (as_json_text(own_arguments(said)),)
    if labels and not isinstance(text, str) and not isinstance(call, dict) and not own_calls:
        line = as_json_text(part[labels[0]])
        yield line, f"\n{line}"  # as the next line of a sound


def call_part(id: str, name: str, label: str, text: str) -> JsonObject:
    """The part that says a call, or whatever `text` is JSON of, under the wire's word for it."""
    named: JsonObject = {"id": id} if id else {}
    if not label:
        return {"functionCall": {**named, "name": name, "args": as_input(text)}}
    return {label: as_input(text) if name in ("", name_of(label)) else {**named, "name": name, "args": as_input(text)}}


def mixed(
    parts: Sequence[JsonObject],
    owners: Sequence[list[int]],
    anew: Sequence[tuple[int, JsonObject]],
    touched: Set[int],
) -> list[JsonObject]:
    """Upstream's own parts, with those that are said anew in place of the ones that are not kept."""
    kept: list[JsonObject] = []
    said: dict[int, list[JsonObject]] = {}
    for ordinal, made in anew:
        said.setdefault(ordinal, []).append(made)
    for part, ordinals in zip(parts, owners, strict=True):
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
