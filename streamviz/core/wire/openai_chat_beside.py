"""Text in members that chat chunks and completions do not have (`beside.py`)."""

from collections.abc import Iterator
from itertools import chain
from types import NoneType

from streamviz.core.calls import CARRIERS
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text
from streamviz.core.repeats import TextPlace
from streamviz.core.wire.beside import (
    Part,
    any_beside,
    any_token_beside,
    has_text,
    is_any_respelt,
    is_no_list,
    is_odd,
    is_respelt,
    is_small,
    is_word,
    left_of,
    member_names,
    names_a_speaker,
    replaced,
    says_beside,
)
from streamviz.core.wire.openai_chat_message import says
from streamviz.core.wire.openai_chat_thinking import THINKING_FIELDS

# The members of nearly every delta.
_TEXTS = member_names("role content refusal reasoning_content reasoning reasoning_text")
_TEXT_TYPES = frozenset((str, NoneType))
_NUMBERS = frozenset((int, float))
BLOCK_TEXTS = member_names("content refusal reasoning_content reasoning reasoning_text thinking")
_PLAIN_DELTA = BLOCK_TEXTS | {"role"}
_FILTERS = "content_filter_results"
_PLAIN_CHOICE = member_names("index delta finish_reason logprobs") | {_FILTERS}
_CHUNK = member_names("choices created model usage error system_fingerprint service_tier obfuscation")
_CHOICE = member_names(
    "delta message logprobs error content_filter_results content_filter_result content_filter_offsets stop_reason"
    " matched_stop provider_specific_fields"
)
_CHOICE_AGAIN = _CHOICE | {"text"}
_DELTA = member_names(
    "role content refusal tool_calls function_call reasoning_content reasoning reasoning_text thinking"
    " reasoning_details audio name images annotations citations provider_specific_fields thinking_blocks"
    " provider_metadata executed_tools context reasoning_steps copilot_annotations"
)
_CALL = member_names("id function custom type")
_FUNCTION = member_names("name arguments")
_OF_PIECE = member_names("index id type")
_TYPES = ("function", None)
_CUSTOM = member_names("name input")
_SPOKEN = member_names("transcript")
_AUDIO = _SPOKEN | {"data"}
_IMAGE = member_names("image_url url b64_json")
_THINKING = frozenset(THINKING_FIELDS)
_THOUGHTS = ("text", "summary", "thinking", "content", "reasoning")
_DETAILS = ("text", "summary")
_SPECIFIC = _THINKING | member_names(
    "annotations citation citations images signature provider_metadata web_search_calls web_search_results"
    " code_interpreter_results tool_results compaction_start compaction_delta compaction_blocks citationsContent"
    " stop_details stop_sequence server_side_tool_invocations"
)
# These say why a choice ended, and have nothing of its delta's blocks.
_SPECIFIC_OF_CHOICE = member_names("stop_details stop_sequence")
# Members that, in thinking without a text, may make a call or should not be text.
_NOT_READ = ("name", "call_id", *CARRIERS, "data", "redactedContent")
_ABOUT_THOUGHTS = member_names("signature id format encrypted_content")
_LOGPROBS = member_names("content refusal reasoning_content")
_LEGACY_LOGPROBS = member_names("tokens top_logprobs")
_PART = member_names("signature annotations citations image_url input_audio audio file url data reference_ids")
# Members of what Mistral's own tools found.
_REFERENCE = member_names("tool title url source favicon description")
_PIECE = member_names("text")
_MEDIA = member_names("image_url input_audio audio file")
_MEDIUM = member_names("url detail data format file_data filename")


def chat_says_beside(payload: JsonObject) -> bool:
    """Whether a chunk, or a whole completion, has text or a call where nothing reads it."""
    if is_any_respelt(payload, _CHUNK):
        return True
    return is_no_list(payload, "choices") or any(map(_choice_says_beside, as_list(payload.get("choices"))))


def chat_has_needless(payload: JsonObject, *, has_deltas: bool) -> bool:
    """Whether a chunk has something superfluous that some clients stumble over: a message beside a delta, or after
    others, which they take for the sum of all deltas; or an empty string as the role or as a call's type."""
    return any(_has_needless(choice, has_deltas) for choice in as_list(payload.get("choices")))


def chat_needed_of(payload: JsonObject, *, has_deltas: bool) -> JsonObject:
    """The chunk without anything superfluous."""
    return {**payload, "choices": [_needed_of(choice, has_deltas) for choice in as_list(payload.get("choices"))]}


def chat_known_of(payload: JsonObject) -> object:
    """The payload without members of choices and messages that contain text and are not in the format."""
    known = {name: value for name, value in payload.items() if not is_respelt(name, _CHUNK)}
    return replaced(known, "choices", _known_choice)


def _has_needless(choice: object, has_deltas: bool) -> bool:
    members = as_object(choice)
    delta, message = members.get("delta"), members.get("message")
    if message and (has_deltas or isinstance(delta, dict)) and says(as_object(message)):
        return True
    if not isinstance(delta, dict):
        return False
    calls = delta.get("tool_calls")
    return delta.get("role") == "" or (
        isinstance(calls, list) and any(as_object(call).get("type") == "" for call in calls)
    )


def _needed_of(choice: object, has_deltas: bool) -> object:
    if not _has_needless(choice, has_deltas):
        return choice
    members = {name: value for name, value in as_object(choice).items() if name != "message"}
    if isinstance(delta := members.get("delta"), dict):
        members["delta"] = replaced(
            _without_empty(delta, "role"), "tool_calls", lambda call: _without_empty(call, "type")
        )
    return members


def _without_empty(members: object, name: str) -> object:
    """An object without the member of that name if it is an empty string."""
    if not isinstance(members, dict) or members.get(name) != "":
        return members
    return {each: value for each, value in members.items() if each != name}


def _known_choice(choice: object) -> object:
    known = left_of(choice, _CHOICE_AGAIN if _is_text_again(as_object(choice)) else _CHOICE)
    return replaced(replaced(known, "delta", _known_delta), "message", _known_delta)


def _known_delta(delta: object) -> object:
    known = left_of(delta, _DELTA)
    return replaced(known, "provider_specific_fields", lambda specific: left_of(specific, _SPECIFIC))


def _choice_says_beside(choice: object) -> bool:
    members = as_object(choice)
    if says_beside(choice, _CHOICE_AGAIN if _is_text_again(members) else _CHOICE):
        return True
    if is_odd(members, "stop_reason", str) or is_odd(members, "matched_stop", str):
        return True
    delta, message = members.get("delta"), members.get("message")
    if (logprobs := members.get("logprobs")) and _tokens_say_beside(logprobs, as_object(delta or message)):
        return True
    if "provider_specific_fields" in members and says_beside(members["provider_specific_fields"], _SPECIFIC_OF_CHOICE):
        return True
    return bool((delta and _delta_says_beside(delta)) or (message and _delta_says_beside(message)))


def _is_text_again(choice: JsonObject) -> bool:
    """Whether a choice repeats its content in `text`, as completions had it before chat: some providers do."""
    text = choice.get("text")
    return text is not None and text == as_object(choice.get("delta") or choice.get("message")).get("content")


def _delta_says_beside(delta: object) -> bool:
    members = as_object(delta)
    if members and _TEXTS.issuperset(members) and _TEXT_TYPES.issuperset(map(type, members.values())):
        return "role" in members and has_text(members["role"])
    if says_beside(delta, _DELTA) or is_odd(members, "provider_specific_fields", dict):
        return True
    if is_odd(members, "tool_calls", list) or not names_a_speaker(members.get("name")) or _has_numbers(members):
        return True
    return is_odd(members, "role", str) or any_beside(_of_delta(members))


def _has_numbers(delta: JsonObject) -> bool:
    """Whether there is a number in the place of a text: JavaScript joins it with the texts."""
    parts = as_list(delta.get("content"))
    texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part for part in parts]
    return not _NUMBERS.isdisjoint(map(type, chain(map(delta.get, BLOCK_TEXTS), texts)))


def _of_delta(delta: JsonObject) -> Iterator[Part]:
    for call in as_list(delta.get("tool_calls")):
        members = as_object(call)
        is_again = as_object(members.get("function")).get("name", "") == members.get("name")
        yield call, _CALL | {"name"} if is_again else _CALL
        yield from _of_call(members)
    if call := delta.get("function_call"):
        yield call, _FUNCTION
    if audio := delta.get("audio"):
        yield audio, _texts_of(audio, _AUDIO if is_word(as_text(as_object(audio).get("data"))) else _SPOKEN)
    if images := delta.get("images"):
        for image in as_list(images) or [images]:
            yield image, _IMAGE
            if not isinstance(address := as_object(image).get("image_url"), str):
                yield address, _texts_of(address, _MEDIUM)
    yield from _thoughts(delta)
    specific = as_object(delta.get("provider_specific_fields"))
    yield specific, _SPECIFIC
    yield from _thoughts(specific)
    for part in as_list(delta.get("content")):
        yield from _of_part(part)


def _of_part(part: object) -> Iterator[Part]:
    """A string in place of an object is read; anything else in place of a string is not."""
    if isinstance(part, str):
        return
    members = as_object(part)
    read = next(
        (name for name in (as_text(members.get("type")), "text", "content", "summary") if _is_read(members, name)), ""
    )
    yield part, _REFERENCE if members.get("type") == "tool_reference" else _PART | {read}
    for piece in as_list(members.get(read)):
        if not isinstance(piece, str):
            yield piece, _texts_of(piece, _PIECE)
    for name in _MEDIA & members.keys():
        if not isinstance(medium := members[name], str):
            yield medium, _texts_of(medium, _MEDIUM)


def _is_read(part: JsonObject, name: str) -> bool:
    return isinstance(part.get(name), str | list)


def _texts_of(members: object, names: frozenset[str]) -> frozenset[str]:
    """The names under which there is a string."""
    return frozenset(name for name in names if isinstance(as_object(members).get(name), str))


def _thoughts(delta: JsonObject) -> Iterator[Part]:
    """The objects in the fields of thinking, at any depth."""
    level: list[tuple[object, str]] = [
        (value, name) for name in _THINKING if isinstance(value := delta.get(name), dict | list)
    ]
    while level:
        value, of = level.pop()
        if isinstance(value, list):
            level += ((item, of) for item in value)
        elif isinstance(value, dict):
            # The first member with a text is read, or all of them if none has one.
            names = _DETAILS if of == "reasoning_details" else _THOUGHTS
            read = next((name for name in names if value.get(name)), "")
            if read or of == "reasoning_details" or any(value.get(name) for name in _NOT_READ):
                yield value, _ABOUT_THOUGHTS | {read}
            level += ((value[name], of) for name in ([read] if read else value))


def _of_call(call: JsonObject) -> Iterator[Part]:
    if function := call.get("function"):
        yield function, _FUNCTION
    if custom := call.get("custom"):
        yield custom, _CUSTOM


def _tokens_say_beside(logprobs: object, words: JsonObject) -> bool:
    if isinstance(logprobs, dict) and "tokens" in logprobs:
        return _legacy_tokens_say_beside(logprobs, words)
    kinds = [as_list(as_object(logprobs).get(name)) for name in _LOGPROBS]
    return says_beside(logprobs, _LOGPROBS) or any(map(any_token_beside, kinds))


def _legacy_tokens_say_beside(logprobs: JsonObject, words: JsonObject) -> bool:
    """The same for tokens as completions had them before chat: those of the content, and likely alternatives."""
    tokens, likely = as_list(logprobs["tokens"]), as_list(logprobs.get("top_logprobs"))
    spelt = "".join(map(as_text, tokens))
    if spelt != as_text(words.get("content")) or says_beside(logprobs, _LEGACY_LOGPROBS):
        return True
    return any(has_text(list(each.values()) if isinstance(each, dict) else each) for each in likely)


def is_plain(choice: JsonObject) -> bool:
    """Whether a choice has nothing beside its delta but small numbers and what Azure's filters found."""
    others = ((name, value) for name, value in choice.items() if name != "delta")
    return _PLAIN_CHOICE.issuperset(choice) and all(
        is_small(value) or (name == _FILTERS and not has_text(value)) for name, value in others
    )


def is_text_alone(delta: object) -> bool:
    """Whether a delta has nothing but texts of blocks."""
    if not isinstance(delta, dict) or delta.get("role", "assistant") != "assistant":
        return False
    return _PLAIN_DELTA.issuperset(delta) and _TEXT_TYPES.issuperset(map(type, delta.values()))


def text_place(delta: object) -> TextPlace | None:
    """The place of a delta's text, or of the arguments it adds to a call, if it has nothing else."""
    members = as_object(delta)
    if (function := _only_arguments(members)) is not None:
        return TextPlace(function, "arguments")
    texts = [name for name, value in members.items() if value and name != "role"]
    return TextPlace(members, texts[0]) if len(texts) == 1 and is_text_alone(delta) else None


def _only_arguments(delta: JsonObject) -> JsonObject | None:
    """The function of a call that a delta only adds arguments to."""
    match delta.get("tool_calls"):
        case [{"function": {"arguments": str()} as function, **others}]:
            is_alone = _OF_PIECE.issuperset(others) and others.get("type") in _TYPES and not others.get("id")
            is_alone = is_alone and _FUNCTION.issuperset(function) and not function.get("name")
            said = {name: value for name, value in delta.items() if value and name != "tool_calls"}
            return function if is_alone and said in ({}, {"role": "assistant"}) else None
    return None
