"""Text in members that responses and their events do not have (`beside.py`)."""

from streamviz.core.calls import CARRIERS, RESULT_ENDINGS, may_be_call
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.request_parts import BETWEEN_AGENTS, each_of
from streamviz.core.wire.beside import (
    WORDS,
    any_token_beside,
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
from streamviz.core.wire.openai_responses_calls import split_word
from streamviz.core.wire.openai_responses_seals import SEAL, is_own_thinking, summary_in
from streamviz.core.wire.openai_responses_words import SOUNDS, TEXTS

DELTA_EVENT = member_names("delta obfuscation logprobs")
_LIFECYCLE = member_names("response")
RESPONSE_EVENTS = {
    "error": member_names("message code param error"),
    **dict.fromkeys(("created", "queued", "in_progress", "completed", "incomplete", "failed"), _LIFECYCLE),
    **dict.fromkeys(("output_item.added", "output_item.done"), member_names("item")),
    **dict.fromkeys(("content_part.added", "content_part.done"), member_names("part")),
    **dict.fromkeys(("reasoning_summary_part.added", "reasoning_summary_part.done"), member_names("part")),
    "output_text.done": member_names("text logprobs"),
    "refusal.done": member_names("refusal"),
    "reasoning_text.done": member_names("text"),
    "reasoning_summary_text.done": member_names("text"),
    "function_call_arguments.done": member_names("arguments name"),
    "mcp_call_arguments.done": member_names("arguments name"),
    "custom_tool_call_input.done": member_names("input"),
    "code_interpreter_call_code.done": member_names("code"),
    "shell_call_command.added": member_names("command"),
    "shell_call_command.done": member_names("command"),
    "shell_call_output_content.done": member_names("output"),
    "output_text.annotation.added": member_names("annotation"),
    "apply_patch_call_operation_diff.done": member_names("diff"),
    **dict.fromkeys(("reasoning_part.added", "reasoning_part.done"), member_names("part")),
    "image_generation_call.partial_image": member_names("partial_image_b64"),
}
# Events of the connection, the account and what the provider is doing; policies for texts read what they say.
_ABOUT_EVENTS = {
    "metadata": member_names("headers metadata"),
    "rate_limits.updated": member_names("rate_limits"),
    "safety_buffering": member_names("use_cases reasons"),
    # Perplexity's own searches.
    **dict.fromkeys(("reasoning.started", "reasoning.stopped"), member_names("thought")),
    **dict.fromkeys(("reasoning.search_queries", "reasoning.fetch_url_queries"), member_names("queries urls thought")),
    "reasoning.search_results": member_names("results thought"),
    "reasoning.fetch_url_results": member_names("contents results thought"),
}
_EVENTS = RESPONSE_EVENTS | _ABOUT_EVENTS
# Members that make an event one about a response, an item or a part, whatever its name is.
_SUBJECTS = member_names("response item part")
_OWN = member_names("id type object output")
# The members of a response that clients read.
_RESPONSE = member_names("output output_text error incomplete_details model usage text reasoning tools")
# Members in which a call may repeat its arguments: its reader compares them.
_AGAIN = frozenset(CARRIERS) | member_names("payload body tool_input tool_args operations diff function query")
ITEMS = {
    "message": member_names("content"),
    "reasoning": member_names("summary content encrypted_content"),
    "function_call": member_names("name call_id caller namespace") | _AGAIN,
    "custom_tool_call": member_names("name call_id caller namespace") | _AGAIN,
}
# Where clients look for the text of an item; that of a result is not the answer's.
_WORDS_OF_ITEMS = (*WORDS, "content")
# Members of the `text` that a response repeats from its request.
_TEXT_FORMAT = member_names("format verbosity")
TEXT_PARTS = {
    "output_text": member_names("text annotations logprobs"),
    "refusal": member_names("refusal"),
    "summary_text": member_names("text"),
    "reasoning_text": member_names("text"),
}


def responses_say_beside(payload: JsonObject, name: str) -> bool:
    """Whether an event, or a whole response, has text or a call where nothing reads it."""
    told = as_text(payload.get("type")) or name
    kind = told.removeprefix("response.")
    known = _EVENTS.get(kind, frozenset() if "." in kind else _LIFECYCLE)
    if any(name in payload and _is_of(payload[name]) for name in _SUBJECTS - known):
        return True
    if kind.endswith(".delta"):
        return (
            says_beside(payload, DELTA_EVENT)
            # The output of a shell's commands is an object.
            or (not kind.startswith("shell_call_output") and is_odd(payload, "delta", str))
            or (bool(payload.get("logprobs")) and _odd_tokens(payload))
            or (is_unread_delta(told) and has_text(payload.get("delta")))
        )
    if "output" in payload and "type" not in payload:
        return _output_says_beside(payload)
    if says_beside(payload, _EVENTS.get(kind, frozenset())) or _odd_tokens(payload) or _has_odd_text(payload):
        return True
    if item := payload.get("item"):
        return _item_says_beside(item)
    if part := payload.get("part"):
        return _part_says_beside(part)
    return is_odd(payload, "response", dict) or _output_says_beside(as_object(payload.get("response")))


def responses_known_of(payload: JsonObject, name: str) -> object:
    """The payload without members that the format does not have and that contain text."""
    kind = (as_text(payload.get("type")) or name).removeprefix("response.")
    if kind.endswith(".delta"):
        return left_of(payload, DELTA_EVENT)
    if "output" in payload and "type" not in payload:
        return replaced(payload, "output", _known_item)
    known = left_of(payload, _EVENTS.get(kind, frozenset()))
    known = replaced(replaced(known, "item", _known_item), "part", _known_part)
    return replaced(known, "response", lambda response: replaced(response, "output", _known_item))


def _known_item(item: object) -> object:
    known = left_of_known(item, ITEMS)
    if as_object(known).get("type") not in ("message", "reasoning"):
        return known
    return replaced(replaced(known, "content", _known_part), "summary", _known_part)


def _known_part(part: object) -> object:
    return left_of_known(part, TEXT_PARTS)


def is_unread_delta(kind: str) -> bool:
    """Whether this is the type of an event that adds to a text, but to none that is read."""
    start, *words, end = kind.split(".") if "." in kind else ("", "")
    word = "_".join(words)
    return end == "delta" and (start != "response" or not (word in TEXTS or word in SOUNDS or split_word(word)[1]))


def members_read(kind: str) -> frozenset[str]:
    """The members of an event of this type that are read, or looked at here, and so are not of its envelope."""
    word = kind.removeprefix("response.")
    if word.endswith(".delta"):
        return DELTA_EVENT - {"obfuscation", "delta" if is_unread_delta(kind) else ""}
    return frozenset() if word == "error" else RESPONSE_EVENTS.get(word, frozenset())


def _is_of(value: object) -> bool:
    """Whether a member makes its event one about something other than its name says."""
    return isinstance(value, dict) and not _OWN.isdisjoint(value)


def _output_says_beside(response: JsonObject) -> bool:
    return (
        is_any_respelt(response, _RESPONSE)
        or says_beside(response.get("text"), _TEXT_FORMAT)
        or is_no_list(response, "output")
        or is_no_text(response, "output_text")
        or is_odd(response, "reasoning", dict)
        or any(map(_item_says_beside, as_list(response.get("output"))))
    )


def _item_says_beside(item: object) -> bool:
    if not isinstance(item, dict):
        return has_text(item)
    if SEAL in item and (is_own_thinking(item) or summary_in(item)):
        item = {name: value for name, value in item.items() if name != SEAL}
    if known_says_beside(item, ITEMS) or _is_escaped_elsewhere(item) or has_text(item.get(SEAL)):
        return True
    if is_no_text(item, "namespace"):
        return True
    if item.get("type") not in ("message", "reasoning"):
        return _other_says(item)
    if any(not isinstance(item.get(name), str) and is_no_list(item, name) for name in ("content", "summary")):
        return True
    parts = [part for name in ("content", "summary") for part in as_list(item.get(name))]
    # Thinking may be a plain string, which is read.
    kinds = (dict, str) if item["type"] == "reasoning" else (dict,)
    if item["type"] == "reasoning" and any(as_object(part).get("data") for part in parts):
        return True  # sound belongs in messages
    return any(not isinstance(part, kinds) or _part_says_beside(part) for part in parts)


def _other_says(item: JsonObject) -> bool:
    """Whether an item other than a message or thinking has text where clients look for an answer's. What agents say to
    each other is for none of these: policies for texts read it with the envelope, but for what is encrypted."""
    kind = as_text(item.get("type"))
    if kind == BETWEEN_AGENTS:
        parts = map(as_object, each_of(item.get("content")))
        return any(may_be_call(part) or has_text(part.get(SEAL)) for part in parts)
    return not kind.endswith(RESULT_ENDINGS) and any(has_text(item.get(name)) for name in _WORDS_OF_ITEMS)


def _part_says_beside(part: object) -> bool:
    """Whether a part has text where nothing reads it, or looks like a call: parts are never judged as calls."""
    details = as_object(part)
    kind = as_text(details.get("type"))
    if kind in TEXT_PARTS and is_no_text(details, "refusal" if kind == "refusal" else "text"):
        return True
    is_call = kind not in TEXT_PARTS and may_be_call(details)
    return is_call or _has_odd_text(details) or known_says_beside(part, TEXT_PARTS)


def _has_odd_text(members: JsonObject) -> bool:
    """Whether something other than a string, possibly a call, is in the place of a text."""
    return any(is_odd(members, name, str) for name in ("text", "refusal", "transcript"))


def _is_escaped_elsewhere(item: JsonObject) -> bool:
    """Whether the plain text of a custom call is in a member that has JSON in other calls, and may be read as JSON."""
    if item.get("type") != "custom_tool_call":
        return False
    return any("\\" in as_text(item.get(name)) for name in CARRIERS if name != "input")


def _odd_tokens(payload: JsonObject) -> bool:
    return any_token_beside(as_list(payload.get("logprobs")))
