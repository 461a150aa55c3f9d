"""Text in members that Anthropic's messages and their events do not have (`beside.py`)."""

from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.wire.beside import (
    WORDS,
    has_text,
    is_any_respelt,
    is_no_list,
    is_no_text,
    is_odd,
    known_says_beside,
    left_of,
    left_of_known,
    member_names,
    replaced,
    says_beside,
)

_EVENTS = {
    "message_start": member_names("message"),
    "content_block_start": member_names("content_block"),
    "content_block_delta": member_names("delta"),
    "message_delta": member_names("delta usage context_management"),
    "error": member_names("error request_id"),
}
_END = member_names("stop_reason stop_sequence stop_details container context_management")
_MESSAGE = member_names(
    "id role model content stop_sequence stop_details container context_management diagnostics usage type error"
)
_INPUT = member_names("id name input caller server_name cache_control")
BLOCKS = {
    "text": member_names("text citations"),
    "thinking": member_names("thinking signature"),
    "redacted_thinking": member_names("data"),
    "tool_use": _INPUT,
    "server_tool_use": _INPUT,
    "mcp_tool_use": _INPUT,
}
DELTAS = {
    "text_delta": member_names("text"),
    "input_json_delta": member_names("partial_json"),
    "thinking_delta": member_names("thinking"),
    "signature_delta": member_names("signature"),
    "citations_delta": member_names("citation"),
}
# By the type of a block or a delta: the member with its text.
_DELTA_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_TEXTS = {"text": "text", "thinking": "thinking", **_DELTA_TEXTS}


def messages_say_beside(payload: JsonObject, name: str) -> bool:
    """Whether an event, or a whole message, has text or a call where nothing reads it."""
    kind = as_text(payload.get("type")) or name
    if kind == "content_block_delta":
        delta = payload.get("delta")
        return says_beside(payload, _EVENTS[kind]) or _delta_of_block_says_beside(delta)
    if "content" in payload:
        return says_beside(payload, _MESSAGE) or _content_says_beside(payload)
    if says_beside(payload, _EVENTS.get(kind, frozenset())) or is_odd(payload, "message", dict):
        return True
    if kind == "message_delta" and says_beside(payload.get("delta") or {}, _END):
        return True
    message = as_object(payload.get("message"))
    block = payload.get("content_block")
    return _content_says_beside(message) or known_says_beside(block, BLOCKS) or _is_odd_part(block)


def messages_known_of(payload: JsonObject, name: str) -> object:
    """The payload without members that the format does not have and that contain text."""
    kind = as_text(payload.get("type")) or name
    if kind == "content_block_delta":
        return replaced(left_of(payload, _EVENTS[kind]), "delta", lambda delta: left_of_known(delta, DELTAS))
    if "content" in payload:
        return _known_message(payload)
    known = left_of(payload, _EVENTS.get(kind, frozenset()))
    if kind == "message_delta":
        known = replaced(known, "delta", lambda delta: left_of(delta, _END))
    return replaced(replaced(known, "message", _known_message), "content_block", _known_block)


def _known_message(message: object) -> object:
    return replaced(left_of(message, _MESSAGE), "content", _known_block)


def _known_block(block: object) -> object:
    return left_of_known(block, BLOCKS)


def _content_says_beside(message: JsonObject) -> bool:
    content = message.get("content")
    if (not isinstance(content, str) and is_no_list(message, "content")) or is_any_respelt(message, _MESSAGE):
        return True
    return any(known_says_beside(part, BLOCKS) or _is_odd_part(part) for part in as_list(content))


def _delta_of_block_says_beside(delta: object) -> bool:
    members = as_object(delta)
    if len(members) == 2 and isinstance(members.get(_DELTA_TEXTS.get(as_text(members.get("type")), "")), str):
        return False
    is_known = as_text(members.get("type")) in DELTAS
    has_words = not is_known and any(has_text(members[name]) for name in WORDS if name in members)
    return has_words or known_says_beside(delta, DELTAS) or _is_odd_part(delta)


def _is_odd_part(part: object) -> bool:
    """Whether a text is not a string, or an encrypted member is readable."""
    if not isinstance(part, dict):
        return False
    members: JsonObject = part
    kind = as_text(members.get("type"))
    if is_no_text(members, _TEXTS.get(kind, "")) or any(is_odd(members, name, str) for name in _TEXTS.values()):
        return True
    is_redacted = kind == "redacted_thinking"
    return has_text(members.get("encrypted_content")) or (is_redacted and has_text(members.get("data")))
