"""The parts of Gemini's answers: what they say, and which block each belongs to."""

from collections import deque
from collections.abc import Iterator, Sequence

from streamviz.core.calls import as_arguments, name_of
from streamviz.core.events import BlockDelta, StreamEvent
from streamviz.core.json_value import JsonObject, as_json_text, as_object, object_in, objects
from streamviz.core.wire.gemini import is_own_call
from streamviz.core.wire.gemini_beside import DESCRIPTIONS, own_arguments


def parts_of(candidate: JsonObject) -> list[JsonObject]:
    """The parts of a candidate's content."""
    return objects(as_object(candidate.get("content")).get("parts"))


def owners_of(candidates: Sequence[JsonObject], read: Sequence[StreamEvent]) -> list[list[list[int]]] | None:
    """The ordinals of the blocks that each part of each candidate was `read` as; None if that cannot be told."""
    deltas = deque(event for event in read if isinstance(event, BlockDelta))
    found = [[_owners(part, deltas) for part in parts_of(candidate)] for candidate in candidates]
    return None if deltas else found


def _owners(part: JsonObject, deltas: deque[BlockDelta]) -> list[int]:
    return [deltas.popleft().ordinal for said in _said(part) if deltas and (deltas[0].text in said)]


def _said(part: JsonObject) -> Iterator[tuple[str, ...]]:
    """For each block that a part belongs to, the texts that the part may have added to it."""
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
        yield line, f"\n{line}"  # the second as the next line of a sound


def call_part(id: str, name: str, label: str, text: str) -> JsonObject:
    """The part for a call, or for whatever JSON is in `text`, under the wire's name for it."""
    named: JsonObject = {"id": id} if id else {}
    if not label:
        return {"functionCall": {**named, "name": name, "args": object_in(text)}}
    if name in ("", name_of(label)):
        return {label: object_in(text)}
    word = "toolType" if label == "toolCall" else "name"
    return {label: {**named, word: name, "args": object_in(text)}}
