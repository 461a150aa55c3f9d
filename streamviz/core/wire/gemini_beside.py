"""What Gemini's answers say where nobody reads it, or in a way that clients read otherwise than this project.

Google's client takes members in snake_case for those in camelCase, lines that are no `data: ` for data of their own,
and the first candidate of a chunk for the answer.
"""

import re

from streamviz.core.json_value import JsonObject, as_index, as_list, as_object
from streamviz.core.wire.beside import has_text

# What describes a part and is not its content.
DESCRIPTIONS = ("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
_LINE = re.compile(rb"\r\n|\n|\r")


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Members with words of their own that are known; any other has words or numbers alone, in the narrow sense.
_TOP = _names("candidates promptFeedback usageMetadata modelStatus error response")
_CANDIDATE = _names(
    "content finishMessage citationMetadata groundingMetadata groundingAttributions urlContextMetadata logprobsResult"
    " safetyRatings"
)
_CONTENT = _names("parts")
_CALL = _names("name id args partialArgs")


def has_other_lines(raw: bytes) -> bool:
    """Whether an event has a line that is neither empty nor `data: ` and something."""
    return any(line and not line.startswith(b"data: ") for line in _LINE.split(raw))


def says_beside(payload: JsonObject) -> bool:
    """Whether an answer, or a chunk of one, says anything that is not read."""
    return _beside(payload, _TOP) or any(map(_candidate_says_beside, as_list(payload.get("candidates"))))


def is_out_of_place(candidate: JsonObject, position: int) -> bool:
    """Whether a candidate's number is not its place, which clients go by."""
    index = candidate.get("index")
    return index is not None and as_index(index) != position


def _candidate_says_beside(candidate: object) -> bool:
    content = as_object(candidate).get("content")
    if _beside(candidate, _CANDIDATE) or (content is not None and _beside(content, _CONTENT)):
        return True
    return any(map(_part_says_beside, as_list(as_object(content).get("parts"))))


def _part_says_beside(part: object) -> bool:
    if not isinstance(part, dict):
        return has_text(part)
    labels = [name for name in part if name not in DESCRIPTIONS]
    if len(labels) > 1 or any("_" in label for label in labels) or not isinstance(part.get("thought"), bool | None):
        return has_text(part)
    text, call = part.get("text"), part.get("functionCall")
    return (text is not None and not isinstance(text, str)) or (call is not None and _call_says_beside(call))


def _call_says_beside(call: object) -> bool:
    members = as_object(call)
    args = members.get("args")
    return (
        _beside(call, _CALL)
        or not isinstance(members.get("name"), str | None)
        or (args is not None and not isinstance(args, dict))
    )


def _beside(part: object, known: frozenset[str]) -> bool:
    if not isinstance(part, dict):
        return has_text(part)
    return any(name not in known and has_text({name: value}) for name, value in part.items())
