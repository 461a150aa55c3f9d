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

# Ids, times, versions, addresses of models, and whatever is opaque. Not every language puts spaces between words.
_WORD = re.compile(r"(?a:[\w.:/+=|-]*)|[\w.:/+=|-]{0,40}")
# Calls, their results, and what else is known to have texts of its own that are no answer's.
_OTHERS = re.compile(r".*_(call|use|request|output|result|update)|mcp_list_tools|item_reference|program")
_WORDS = ("text", "thinking", "refusal", "summary", "transcript")
# What says which, where and how nearly every part of an answer is.
_USUAL = frozenset(
    "type index id role status object finish_reason native_finish_reason sequence_number output_index content_index"
    " summary_index item_id obfuscation".split()
)
# What names something, or cannot be read.
_NAMES = frozenset({"id", "name", "call_id", "server_name", "signature", "data"})
_OPAQUE = frozenset({"encrypted_content"})
_Part = tuple[object, frozenset[str]]


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


def is_word(text: str) -> bool:
    """Whether it is a single word, or a number."""
    return _WORD.fullmatch(text) is not None


def has_own_texts(kind: str) -> bool:
    """Whether what is of this type is a call, a result, or has texts of its own that are no answer's."""
    return _OTHERS.fullmatch(kind) is not None


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
    for name, value in part.items():
        if name in known:
            if _is_no_name(name, value):
                return True
        elif _says(name, value, part, known):
            return True
    return False


def _is_no_name(name: str, value: object) -> bool:
    """Whether what names something is more than a name, or what is opaque can be read.

    Of a signature that holds for a text nobody asks that it be one word.
    """
    if name in _OPAQUE:
        return has_text(value)
    return isinstance(value, dict | list) and name in _NAMES and has_text(value)


def _says(name: str, value: object, part: JsonObject, known: frozenset[str]) -> bool:
    if name in _USUAL and (
        value is None or isinstance(value, int | float) or (isinstance(value, str) and is_word(value))
    ):
        return False
    # What is said again word for word is judged where it is read.
    is_again = any(each == value for other, each in part.items() if other in known and isinstance(each, str))
    return not is_again and has_text({name: value})


def _is_odd(members: JsonObject, name: str, *expected: type) -> bool:
    """Whether a member of another type than its format's says anything: its reader takes no other."""
    value = members.get(name)
    return value is not None and not isinstance(value, expected) and has_text(value)


def _any_beside(parts: Iterator[_Part]) -> bool:
    return any(_says_beside(part, known) for part, known in parts)


def _has_words(part: object) -> bool:
    """Whether something of unknown type, and no call, says anything where clients find an answer's words."""
    members = as_object(part)
    kind = as_text(members.get("type"))
    if kind.endswith(("_result", "compaction")) and members.get("name"):
        return True  # neither names a tool: some clients may take it for a call
    has_own = has_own_texts(kind) and not kind.endswith(("_result", "_output"))  # no vendor's have theirs there
    return not has_own and any(has_text(members[name]) for name in _WORDS if name in members)


# OpenAI's chat

# Of what nearly every delta is made.
_TEXTS = _names("role content refusal reasoning_content reasoning")
_CHOICE = _names("delta message logprobs error content_filter_results content_filter_offsets")
_CHOICE_AGAIN = _CHOICE | {"text"}
_DELTA = _names(
    "role content refusal tool_calls function_call reasoning_content reasoning thinking reasoning_details audio name"
    " images annotations citations provider_specific_fields thinking_blocks provider_metadata"
)
_CALL = _names("id function custom type")
_FUNCTION = _names("name arguments")
_CUSTOM = _names("name input")
_AUDIO = _names("transcript data")
_IMAGE = _names("image_url url b64_json")
_THINKING = _names("reasoning_content reasoning thinking reasoning_details thinking_blocks")
_THOUGHTS = ("text", "summary", "thinking", "content", "reasoning")
_DETAILS = ("text", "summary")
_SPECIFIC = _THINKING | _names(
    "annotations citations images signature provider_metadata web_search_results tool_results"
)
_OF_CALLS = ("name", "call_id", *CARRIERS)
_ABOUT_THOUGHTS = _names("data signature id format encrypted_content")
_LOGPROBS = _names("content refusal reasoning_content")
_TOKEN = _names("token top_logprobs")
_PART = _names("text refusal thinking signature annotations")
_MEDIA = _names("text image_url input_audio audio file url data reference_ids")
_PARTS = frozenset({"text", "output_text", "refusal"})


def chat_says_beside(payload: JsonObject) -> bool:
    """Whether a chunk, or a whole completion, says anything where nobody reads it."""
    return _is_odd(payload, "choices", list) or any(map(_choice_says_beside, as_list(payload.get("choices"))))


def _choice_says_beside(choice: object) -> bool:
    members = as_object(choice)
    if _says_beside(choice, _CHOICE_AGAIN if _is_text_again(members) else _CHOICE):
        return True
    if (logprobs := members.get("logprobs")) and _any_beside(_tokens(logprobs)):
        return True
    return any(_delta_says_beside(members[name]) for name in ("delta", "message") if members.get(name))


def _is_text_again(choice: JsonObject) -> bool:
    """Whether the content is said as there was it before there was chat, too, as some providers do."""
    text = choice.get("text")
    return text is not None and text == as_object(choice.get("delta") or choice.get("message")).get("content")


def _delta_says_beside(delta: object) -> bool:
    members = as_object(delta)
    if members and all(name in _TEXTS and isinstance(value, str | None) for name, value in members.items()):
        return "role" in members and has_text(members["role"])
    if _says_beside(delta, _DELTA) or _is_odd(members, "provider_specific_fields", dict):
        return True
    if _is_odd(members, "tool_calls", list) or has_text(members.get("name")):
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
    yield from _thoughts(delta)
    specific = as_object(delta.get("provider_specific_fields"))
    yield specific, _SPECIFIC
    yield from _thoughts(specific)
    for part in as_list(delta.get("content")):
        kind = as_object(part).get("type")
        if kind in _PARTS:
            yield part, _PART
        elif isinstance(part, dict) and kind not in ("thinking", "reasoning"):
            yield part, _MEDIA


def _thoughts(delta: JsonObject) -> Iterator[_Part]:
    """The objects in the fields of thinking, however they are nested."""
    level: list[tuple[object, str]] = [
        (value, name) for name in _THINKING if isinstance(value := delta.get(name), dict | list)
    ]
    while level:
        value, of = level.pop()
        if isinstance(value, list):
            level += ((item, of) for item in value)
        elif isinstance(value, dict):
            # The first that has a text is read, or all where none has.
            names = _DETAILS if of == "reasoning_details" else _THOUGHTS
            read = next((name for name in names if value.get(name)), "")
            if read or of == "reasoning_details" or any(value.get(name) for name in _OF_CALLS):
                yield value, _ABOUT_THOUGHTS | {read}
            level += ((value[name], of) for name in ([read] if read else value))


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
_END = _names("stop_reason stop_sequence stop_details container context_management")
_MESSAGE = _names(
    "id role model content stop_sequence stop_details container context_management diagnostics usage type error"
)
_INPUT = _names("id name input caller server_name cache_control")
BLOCKS = {
    "text": _names("text citations"),
    "thinking": _names("thinking signature"),
    "redacted_thinking": _names("data"),
    "tool_use": _INPUT,
    "server_tool_use": _INPUT,
    "mcp_tool_use": _INPUT,
}
DELTAS = {
    "text_delta": _names("text"),
    "input_json_delta": _names("partial_json"),
    "thinking_delta": _names("thinking"),
    "signature_delta": _names("signature"),
    "citations_delta": _names("citation"),
}
_DELTA_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


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
    if kind == "message_delta" and _says_beside(payload.get("delta") or {}, _END):
        return True
    message = as_object(payload.get("message"))
    block = payload.get("content_block")
    return _content_says_beside(message) or _known_says_beside(block, BLOCKS) or _is_no_text(block)


def _content_says_beside(message: JsonObject) -> bool:
    if _is_odd(message, "content", list, str):
        return True
    return any(_known_says_beside(part, BLOCKS) or _is_no_text(part) for part in as_list(message.get("content")))


def _known_says_beside(part: object, kinds: dict[str, frozenset[str]]) -> bool:
    """The same of an object whose members depend on its type; one of unknown type is read whole."""
    kind = as_text(as_object(part).get("type"))
    known = kinds.get(kind) if kind else frozenset[str]()
    return _has_words(part) if known is None else _says_beside(part, known)


def _delta_of_block_says_beside(delta: object) -> bool:
    members = as_object(delta)
    if len(members) == 2 and isinstance(members.get(_DELTA_TEXTS.get(as_text(members.get("type")), "")), str):
        return False
    is_known = as_text(members.get("type")) in DELTAS
    has_words = not is_known and any(has_text(members[name]) for name in _WORDS if name in members)
    return has_words or _known_says_beside(delta, DELTAS) or _is_no_text(delta)


def _is_no_text(part: object) -> bool:
    members = as_object(part)
    return any(_is_odd(members, name, str) for name in ("text", "thinking", "partial_json"))


# OpenAI's responses

DELTA_EVENT = _names("delta obfuscation logprobs")
_LIFECYCLE = _names("response")
RESPONSE_EVENTS = {
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
ITEMS = {
    "message": _names("content"),
    "reasoning": _names("summary content encrypted_content"),
    "function_call": _names("name call_id caller") | _AGAIN,
    "custom_tool_call": _names("name call_id caller") | _AGAIN,
}
TEXT_PARTS = {
    "output_text": _names("text annotations logprobs"),
    "refusal": _names("refusal"),
    "summary_text": _names("text"),
    "reasoning_text": _names("text"),
}


def responses_say_beside(payload: JsonObject, name: str) -> bool:
    """Whether an event, or a whole response, says anything where nobody reads it."""
    kind = (as_text(payload.get("type")) or name).removeprefix("response.")
    if kind.endswith(".delta"):
        return (
            _says_beside(payload, DELTA_EVENT)
            # What a shell's commands gave is an object.
            or (not kind.startswith("shell_call_output") and _is_odd(payload, "delta", str))
            or (bool(payload.get("logprobs")) and _odd_tokens(payload))
        )
    if "output" in payload and "type" not in payload:
        return _output_says_beside(payload)
    if _says_beside(payload, RESPONSE_EVENTS.get(kind, frozenset())) or _odd_tokens(payload):
        return True
    if item := payload.get("item"):
        return _item_says_beside(item)
    if part := payload.get("part"):
        return _known_says_beside(part, TEXT_PARTS)
    return _output_says_beside(as_object(payload.get("response")))


def _output_says_beside(response: JsonObject) -> bool:
    return (
        _is_odd(response, "text", dict)
        or _is_odd(response, "output", list)
        or _is_odd(response, "output_text", str)
        or _is_odd(response, "reasoning", dict)
        or any(map(_item_says_beside, as_list(response.get("output"))))
    )


def _item_says_beside(item: object) -> bool:
    if not isinstance(item, dict):
        return has_text(item)
    if _known_says_beside(item, ITEMS):
        return True
    if item.get("type") not in ("message", "reasoning"):
        return False
    if _is_odd(item, "content", list, str) or _is_odd(item, "summary", list, str):
        return True
    parts = [part for name in ("content", "summary") for part in as_list(item.get(name))]
    # Thinking may be bare text, which its reader reads.
    kinds = (dict, str) if item["type"] == "reasoning" else (dict,)
    return any(not isinstance(part, kinds) or _known_says_beside(part, TEXT_PARTS) for part in parts)


def _odd_tokens(payload: JsonObject) -> bool:
    return any(_says_beside(token, _TOKEN) for token in as_list(payload.get("logprobs")))
