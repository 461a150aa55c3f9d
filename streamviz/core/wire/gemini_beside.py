"""Text in Gemini's answers that is not read here, or that clients read differently.

Google's client takes members in snake_case for those in camelCase, lines without `data: ` for data of their own, and
the first candidate of a chunk for the answer.
"""

import re

from streamviz.core.json_value import JsonObject, as_index, as_list, as_object
from streamviz.core.wire.beside import (
    has_text,
    is_any_respelt,
    is_no_list,
    is_no_text,
    is_odd,
    left_of,
    member_names,
    replaced,
)

# Members that describe a part and are not its content.
DESCRIPTIONS = ("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
_LINE = re.compile(rb"\r\n|\n|\r")


# Known members that may contain text; any other has to be a single word or a number.
_TOP = member_names("candidates promptFeedback usageMetadata modelStatus modelVersion error")
_CANDIDATE = member_names(
    "content finishMessage citationMetadata groundingMetadata groundingAttributions urlContextMetadata logprobsResult"
    " safetyRatings"
)
_CONTENT = member_names("parts")
_CALL = member_names("name id args partialArgs")
_OWN_CALL = member_names("name id args toolType")
# Calls of Google's own, all of whose members are known.
_OWN_CALLS = {"toolCall": _OWN_CALL, "executableCode": member_names("language code id")}
# Other kinds of parts, whose content policies for texts do not read: media, and results of tools.
_MEDIA = member_names("inlineData fileData inline_data file_data")
_OTHERS = member_names("inlineData fileData codeExecutionResult functionResponse toolResponse")
# All members that a part may have, those of media in either spelling.
PARTS = _MEDIA | _OTHERS | frozenset((*_OWN_CALLS, *DESCRIPTIONS, "text", "functionCall", "function_call"))
# Members that describe a part and might contain text, and one that is opaque.
_ABOUT = ("thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")


def has_other_lines(raw: bytes) -> bool:
    """Whether an event has a line that is neither empty nor `data: ` followed by something."""
    return any(line and not line.startswith(b"data: ") for line in _LINE.split(raw))


def says_beside(payload: JsonObject) -> bool:
    """Whether an answer, or a chunk of one, contains text that is not read."""
    inner = payload.get("response")
    if "candidates" not in payload and isinstance(inner, dict):
        return _beside(payload, _TOP | {"response", "metadata"}) or _answer_says_beside(inner)
    return _answer_says_beside(payload)


def known_of(payload: JsonObject) -> object:
    """The payload without members that the format does not have and that contain text."""
    inner = payload.get("response")
    if "candidates" not in payload and isinstance(inner, dict):
        return left_of({**payload, "response": known_of(inner)}, _TOP | {"response", "metadata"})
    return replaced(left_of(payload, _TOP), "candidates", _known_candidate)


def _known_candidate(candidate: object) -> object:
    return replaced(left_of(candidate, _CANDIDATE), "content", _known_content)


def _known_content(content: object) -> object:
    return replaced(left_of(content, _CONTENT), "parts", _known_part)


def _known_part(part: object) -> object:
    """A part without its unknown members if it has text or a function call; any other as it is."""
    members = as_object(part)
    return left_of(part, PARTS) if "text" in members or "functionCall" in members else part


def is_out_of_place(candidate: JsonObject, position: int) -> bool:
    """Whether a candidate's number differs from its position, which clients go by."""
    index = candidate.get("index")
    return index is not None and as_index(index) != position


def own_arguments(said: JsonObject) -> object:
    """The arguments of a call of Gemini's own: its `args`, or all of its members if some of them are unknown."""
    return said["args"] if "args" in said and said.keys() <= _OWN_CALL else said


def _answer_says_beside(answer: JsonObject) -> bool:
    candidates = as_list(answer.get("candidates"))
    return _beside(answer, _TOP) or is_no_list(answer, "candidates") or any(map(_candidate_says_beside, candidates))


def _candidate_says_beside(candidate: object) -> bool:
    content = as_object(candidate).get("content")
    if _beside(candidate, _CANDIDATE) or (content is not None and _beside(content, _CONTENT)):
        return True
    members = as_object(content)
    return is_no_list(members, "parts") or any(map(_part_says_beside, as_list(members.get("parts"))))


def _part_says_beside(part: object) -> bool:
    if not isinstance(part, dict):
        return has_text(part)
    if is_any_respelt(part, PARTS):
        return True
    labels = [name for name in part if name not in DESCRIPTIONS]
    if len(labels) > 1 and not _MEDIA.isdisjoint(labels):
        return True  # only the text, or the call, is read
    if not isinstance(part.get("thought"), bool | None):
        return True  # Google's client for Python takes words and numbers for true, too
    if len(labels) > 1 or any("_" in label for label in labels):
        return has_text(part)
    if any(has_text(part.get(name)) for name in _ABOUT):
        return True
    return any(_content_says_beside(label, part[label]) for label in labels)


def _content_says_beside(label: str, said: object) -> bool:
    if label == "text":
        return is_no_text({label: said}, label)
    if label == "functionCall":
        return said is not None and _call_says_beside(said)
    if (known := _OWN_CALLS.get(label)) is not None:
        return said is not None and _beside(said, known)
    if label in _OTHERS or label.endswith("Call"):
        return is_odd({label: said}, label, dict)
    return has_text({label: said}) and not ("name" in as_object(said) and "args" in as_object(said))


def _call_says_beside(call: object) -> bool:
    members = as_object(call)
    pieces = members.get("partialArgs")
    return (
        _beside(call, _CALL)
        or not isinstance(members.get("name"), str | None)
        or is_odd(members, "id", str)
        or not isinstance(members.get("args"), dict | None)
        or is_odd(members, "partialArgs", list)
        or not all(isinstance(piece, dict) for piece in as_list(pieces))
    )


def _beside(part: object, known: frozenset[str]) -> bool:
    if not isinstance(part, dict):
        return has_text(part)
    others = {name: value for name, value in part.items() if name not in known}
    return is_any_respelt(others, known) or any(has_text({name: others[name]}) for name in others)
