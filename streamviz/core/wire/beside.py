"""What is said beside what a format has words for.

SDKs hand out whatever members an object has. Those that a format has, its aggregator reads; in any other a provider
may well put a word or a number, but text, or a call, would be something that no policy has judged. So it is looked for
in all that an answer is made of: choices, messages, blocks, items, their parts and pieces. Blocks and items of unknown
type are read whole, as calls or as what no policy for texts reads: they may have no text where clients look for one.
One without any type may say nothing, where its format has types.
"""

import re
from collections.abc import Iterator

from streamviz.core.calls import CARRIERS
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text

# Ids, times, versions, addresses of models, and whatever is opaque.
_WORD = re.compile(r"[\w.:/+=|-]*")
# Calls, their results, and what else is known to have texts of its own that are no answer's.
_OTHERS = re.compile(r".*_(call|use|request|output|result|update)|mcp_list_tools|item_reference|program")
_WORDS = ("text", "thinking", "refusal", "summary", "transcript")
_HEAD = ("id", "object", "created", "created_at", "model", "role", "status")
_Part = tuple[object, frozenset[str]]


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


def has_text(value: object) -> bool:
    """Whether a value has anything that could be text, or a call."""
    level = [value]
    while level:
        match level.pop():
            case str(text):
                if not _WORD.fullmatch(text):
                    return True
            case dict(members):
                if members.get("name"):
                    return True
                level += members
                level += members.values()
            case list(items):
                level += items
    return False


def _says_beside(part: object, known: frozenset[str]) -> bool:
    if not isinstance(part, dict):
        return has_text(part)
    if known.issuperset(part):
        return False
    # What is said again word for word is judged where it is read.
    read = [value for name, value in part.items() if name in known and isinstance(value, str)]
    return any(name not in known and part[name] not in read and has_text({name: part[name]}) for name in part)


def _is_odd(members: JsonObject, name: str, *expected: type) -> bool:
    """Whether a member of another type than its format's says anything: its reader takes no other."""
    value = members.get(name)
    return value is not None and not isinstance(value, expected) and has_text(value)


def _has_odd_head(message: JsonObject) -> bool:
    """Whether what names and dates a message is no word or number: it goes out with whatever a verdict leaves."""
    return any(_is_odd(message, name, str, int, float) for name in _HEAD if name in message)


def _any_beside(parts: Iterator[_Part]) -> bool:
    return any(_says_beside(part, known) for part, known in parts)


def _has_words(part: object) -> bool:
    """Whether something of unknown type, and no call, says anything where clients find an answer's words."""
    members = as_object(part)
    kind = as_text(members.get("type"))
    return not _OTHERS.fullmatch(kind) and any(has_text(members[name]) for name in _WORDS if name in members)


# OpenAI's chat

_CHOICE = _names("delta message logprobs error content_filter_results content_filter_offsets")
_DELTA = _names(
    "name role content refusal tool_calls function_call reasoning_content reasoning thinking reasoning_details audio"
    " images annotations citations provider_specific_fields thinking_blocks provider_metadata"
)
_CALL = _names("id function custom extra_content provider_specific_fields type")
_FUNCTION = _names("name arguments")
_CUSTOM = _names("name input")
_AUDIO = _names("transcript data")
_IMAGE = _names("image_url url b64_json")
_DETAIL = _names("text summary data signature id format")
_LOGPROBS = _names("content refusal reasoning_content")
_TOKEN = _names("token top_logprobs")
_PART = _names("text refusal thinking signature annotations")
_MEDIA = _names("text image_url input_audio audio file url data reference_ids")
_PARTS = frozenset({"text", "output_text", "refusal"})


def chat_says_beside(payload: JsonObject) -> bool:
    """Whether a chunk, or a whole completion, says anything where nobody reads it."""
    return _has_odd_head(payload) or any(map(_choice_says_beside, as_list(payload.get("choices"))))


def _choice_says_beside(choice: object) -> bool:
    members = as_object(choice)
    text = members.get("text")
    # As there was it before there was chat; some providers say it here as well.
    is_again = text is not None and text == as_object(members.get("delta") or members.get("message")).get("content")
    if _says_beside(choice, _CHOICE | {"text"} if is_again else _CHOICE):
        return True
    if (logprobs := members.get("logprobs")) and _any_beside(_tokens(logprobs)):
        return True
    return any(_delta_says_beside(members[name]) for name in ("delta", "message") if members.get(name))


def _delta_says_beside(delta: object) -> bool:
    members = as_object(delta)
    if _says_beside(delta, _DELTA) or _is_odd(members, "provider_specific_fields", dict):
        return True
    if _is_odd(members, "tool_calls", list):
        return True
    if not isinstance(members.get("role"), str | None):
        return has_text(members["role"])
    return _any_beside(_of_delta(members))


def _of_delta(delta: JsonObject) -> Iterator[_Part]:
    for call in as_list(delta.get("tool_calls")):
        members = as_object(call)
        is_again = as_object(members.get("function")).get("name", "") == members.get("name")
        yield call, _CALL | {"name"} if is_again else _CALL
        yield from _of_call(members)
    if call := delta.get("function_call"):
        yield call, _FUNCTION
    if audio := delta.get("audio"):
        yield audio, _AUDIO
    if images := delta.get("images"):
        for image in as_list(images) or [images]:
            yield image, _IMAGE
    for detail in as_list(delta.get("reasoning_details")):
        yield detail, _DETAIL
    for part in as_list(delta.get("content")):
        kind = as_object(part).get("type")
        if kind in _PARTS:
            yield part, _PART
        elif isinstance(part, dict) and kind not in ("thinking", "reasoning"):
            yield part, _MEDIA


def _of_call(call: JsonObject) -> Iterator[_Part]:
    if function := call.get("function"):
        yield function, _FUNCTION
    if custom := call.get("custom"):
        yield custom, _CUSTOM


def _tokens(logprobs: object) -> Iterator[_Part]:
    yield logprobs, _LOGPROBS
    for name in _LOGPROBS:
        for token in as_list(as_object(logprobs).get(name)):
            yield token, _TOKEN


# Anthropic's messages

_EVENTS = {
    "message_start": _names("message"),
    "content_block_start": _names("content_block"),
    "content_block_delta": _names("delta"),
    "message_delta": _names("delta usage context_management"),
    "error": _names("error request_id"),
}
_MESSAGE = _names(
    "id role model content stop_sequence stop_details container context_management diagnostics usage type error"
)
_INPUT = _names("id name input caller server_name cache_control")
_BLOCKS = {
    "text": _names("text citations"),
    "thinking": _names("thinking signature"),
    "redacted_thinking": _names("data"),
    "tool_use": _INPUT,
    "server_tool_use": _INPUT,
    "mcp_tool_use": _INPUT,
}
_DELTAS = {
    "text_delta": _names("text"),
    "input_json_delta": _names("partial_json"),
    "thinking_delta": _names("thinking"),
    "signature_delta": _names("signature"),
    "citations_delta": _names("citation"),
}


def messages_say_beside(payload: JsonObject, name: str) -> bool:
    """Whether an event, or a whole message, says anything where nobody reads it."""
    kind = as_text(payload.get("type")) or name
    if kind == "content_block_delta":
        delta = payload.get("delta")
        return _says_beside(payload, _EVENTS[kind]) or _delta_of_block_says_beside(delta)
    if "content" in payload:
        return _says_beside(payload, _MESSAGE) or _content_says_beside(payload)
    if _says_beside(payload, _EVENTS.get(kind, frozenset())) or _is_odd(payload, "message", dict):
        return True
    message = as_object(payload.get("message"))
    block = payload.get("content_block")
    return _content_says_beside(message) or _known_says_beside(block, _BLOCKS) or _is_no_text(block)


def _content_says_beside(message: JsonObject) -> bool:
    if _has_odd_head(message) or _is_odd(message, "content", list, str):
        return True
    return any(_known_says_beside(part, _BLOCKS) or _is_no_text(part) for part in as_list(message.get("content")))


def _known_says_beside(part: object, kinds: dict[str, frozenset[str]]) -> bool:
    """The same of an object whose members depend on its type; one of unknown type is read whole."""
    kind = as_text(as_object(part).get("type"))
    known = kinds.get(kind) if kind else frozenset[str]()
    return _has_words(part) if known is None else _says_beside(part, known)


def _delta_of_block_says_beside(delta: object) -> bool:
    members = as_object(delta)
    is_known = as_text(members.get("type")) in _DELTAS
    has_words = not is_known and any(has_text(members[name]) for name in _WORDS if name in members)
    return has_words or _known_says_beside(delta, _DELTAS) or _is_no_text(delta)


def _is_no_text(part: object) -> bool:
    members = as_object(part)
    return any(_is_odd(members, name, str) for name in ("text", "thinking", "partial_json"))


# OpenAI's responses

_DELTA_EVENT = _names("delta obfuscation logprobs")
_LIFECYCLE = _names("response")
_RESPONSE_EVENTS = {
    "error": _names("message code param error"),
    **dict.fromkeys(("created", "queued", "in_progress", "completed", "incomplete", "failed"), _LIFECYCLE),
    **dict.fromkeys(("output_item.added", "output_item.done"), _names("item")),
    **dict.fromkeys(("content_part.added", "content_part.done"), _names("part")),
    **dict.fromkeys(("reasoning_summary_part.added", "reasoning_summary_part.done"), _names("part")),
    "output_text.done": _names("text logprobs"),
    "refusal.done": _names("refusal"),
    "reasoning_text.done": _names("text"),
    "reasoning_summary_text.done": _names("text"),
    "function_call_arguments.done": _names("arguments name"),
    "mcp_call_arguments.done": _names("arguments name"),
    "custom_tool_call_input.done": _names("input"),
    "code_interpreter_call_code.done": _names("code"),
    "shell_call_command.added": _names("command"),
    "shell_call_command.done": _names("command"),
    "shell_call_output_content.done": _names("output"),
    "output_text.annotation.added": _names("annotation"),
    "image_generation_call.partial_image": _names("partial_image_b64"),
}
# Where a call may say once more what its tool is given: its reader compares.
_AGAIN = frozenset(CARRIERS) | _names("payload body tool_input tool_args operations diff function query")
_ITEMS = {
    "message": _names("content"),
    "reasoning": _names("summary content encrypted_content"),
    "function_call": _names("name call_id caller") | _AGAIN,
    "custom_tool_call": _names("name call_id caller") | _AGAIN,
}
_TEXT_PARTS = {
    "output_text": _names("text annotations logprobs"),
    "refusal": _names("refusal"),
    "summary_text": _names("text"),
    "reasoning_text": _names("text"),
}


def responses_say_beside(payload: JsonObject, name: str) -> bool:
    """Whether an event, or a whole response, says anything where nobody reads it."""
    kind = (as_text(payload.get("type")) or name).removeprefix("response.")
    if kind.endswith(".delta"):
        return _says_beside(payload, _DELTA_EVENT) or (bool(payload.get("logprobs")) and _odd_tokens(payload))
    if "output" in payload and "type" not in payload:
        return _output_says_beside(payload)
    if _says_beside(payload, _RESPONSE_EVENTS.get(kind, frozenset())) or _odd_tokens(payload):
        return True
    if item := payload.get("item"):
        return _item_says_beside(item)
    if part := payload.get("part"):
        return _known_says_beside(part, _TEXT_PARTS)
    return _output_says_beside(as_object(payload.get("response")))


def _output_says_beside(response: JsonObject) -> bool:
    return (
        _has_odd_head(response)
        or _is_odd(response, "text", dict)
        or any(map(_item_says_beside, as_list(response.get("output"))))
    )


def _item_says_beside(item: object) -> bool:
    if not isinstance(item, dict):
        return has_text(item)
    if _known_says_beside(item, _ITEMS):
        return True
    if item.get("type") not in ("message", "reasoning"):
        return False
    parts = [part for name in ("content", "summary") for part in as_list(item.get(name))]
    # Thinking may be bare text, which its reader reads.
    kinds = (dict, str) if item["type"] == "reasoning" else (dict,)
    return any(not isinstance(part, kinds) or _known_says_beside(part, _TEXT_PARTS) for part in parts)


def _odd_tokens(payload: JsonObject) -> bool:
    return any(_says_beside(token, _TOKEN) for token in as_list(payload.get("logprobs")))
