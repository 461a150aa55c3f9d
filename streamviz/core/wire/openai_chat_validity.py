"""Whether a chat chunk has the types that its format requires: clients that check skip one that does not, and go on.

After the schemas of Vercel's AI SDK, which opencode uses to call models: `@ai-sdk/openai`, which checks more, and
`@ai-sdk/openai-compatible`. A chunk is valid if both accept it, so one that only one of them skips is invalid, too.
"""

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from types import NoneType

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import BlockDelta, BlockKind, StreamEvent
from streamviz.core.json_value import JsonObject, as_object, is_number

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = {
    "prompt_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "completion_tokens_details": ("reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"),
}
_OBJECT, _TEXT, _NUMBER, _LIST = frozenset({dict}), frozenset({str}), frozenset({int, float}), frozenset({list})
_TEXT_IF_ANY, _NUMBER_IF_ANY = _TEXT | {NoneType}, _NUMBER | {NoneType}
# Empty strings are left out if a policy acts.
_ROLES, _CALL_TYPES = ("assistant", "", None), ("function", "", None)
_TEXTS = ("refusal", "reasoning_content", "reasoning")


class Types:
    """Which blocks of a stream come in valid chunks."""

    def __init__(self) -> None:
        # By a call's ordinal, or by the choice and the kind of a text, which may be in several blocks.
        self._are_right: dict[object, bool] = {}

    def differ(self, chunk: JsonObject, events: Sequence[StreamEvent], blocks: Sequence[StreamBlock]) -> bool:
        """Whether clients that check have some, but not all, of a block that grew by these `events` of the chunk. They
        may lack the end of a text, as if it broke off."""
        grown = [blocks[event.ordinal] for event in events if isinstance(event, BlockDelta)]
        is_right = bool(grown) and is_valid(chunk)
        differs = [self._differs(block, is_right) for block in grown]
        return True in differs

    def _differs(self, block: StreamBlock, is_right: bool) -> bool:
        is_call = block.kind is BlockKind.TOOL_CALL
        what = block.ordinal if is_call else (block.choice, block.kind)
        was_right = self._are_right.get(what, is_right)
        self._are_right[what] = is_right
        return is_right is not was_right and (is_right or is_call)


def is_valid(chunk: JsonObject) -> bool:
    """Whether such clients accept the chunk, from which everything that streamviz leaves out if a policy acts is
    already gone. Content may be a list if no calls are beside it: content that is a string never goes on as a list."""
    choices, usage = chunk.get("choices"), chunk.get("usage")
    return (
        "error" not in chunk
        and _are(_TEXT_IF_ANY, chunk, "id", "model")
        and _are(_NUMBER_IF_ANY, chunk, "created")
        and isinstance(choices, list)
        and all(map(_is_choice, choices))
        and (usage is None or _is_usage(usage))
    )


def _are(types: frozenset[type], members: JsonObject, *names: str) -> bool:
    return types.issuperset(map(type, map(members.get, names)))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list_of(is_so: Callable[[object], bool], value: object) -> bool:
    return value is None or (isinstance(value, list) and all(map(is_so, value)))


def _is_choice(choice: object) -> bool:
    members = as_object(choice)
    delta, logprobs = members.get("delta"), members.get("logprobs")
    return (
        is_number(members.get("index"))
        and _are(_TEXT_IF_ANY, members, "finish_reason")
        and (delta is None or _is_delta(delta))
        and (logprobs is None or _are_logprobs(logprobs))
    )


def _is_delta(delta: object) -> bool:
    if not isinstance(delta, dict):
        return False
    return (
        delta.get("role") in _ROLES
        and isinstance(content := delta.get("content"), str | list | None)
        and not (isinstance(content, list) and delta.get("tool_calls"))
        and _are(_TEXT_IF_ANY, delta, *_TEXTS)
        and _is_list_of(_is_call, delta.get("tool_calls"))
        and _is_list_of(_is_citation, delta.get("annotations"))
    )


def _is_call(call: object) -> bool:
    members = as_object(call)
    function = members.get("function")
    return (
        is_number(members.get("index"))
        and _are(_TEXT_IF_ANY, members, "id")
        and members.get("type") in _CALL_TYPES
        and isinstance(function, dict)
        and _are(_TEXT_IF_ANY, function, "name", "arguments")
        and _is_extra(members.get("extra_content"))
    )


def _is_extra(content: object) -> bool:
    """Whether this is Google's extra content of a call, or none."""
    if content is None:
        return True
    google = as_object(content).get("google")
    is_google = google is None or (isinstance(google, dict) and _are(_TEXT_IF_ANY, google, "thought_signature"))
    return isinstance(content, dict) and is_google


def _is_citation(annotation: object) -> bool:
    members = as_object(annotation)
    cited = as_object(members.get("url_citation"))
    return (
        members.get("type") == "url_citation"
        and all(is_number(cited.get(name)) for name in ("start_index", "end_index"))
        and all(_is_text(cited.get(name)) for name in ("url", "title"))
    )


def _are_logprobs(logprobs: object) -> bool:
    return isinstance(logprobs, dict) and all(_are_tokens(logprobs.get(name)) for name in ("content", "refusal"))


def _are_tokens(tokens: object) -> bool:
    if tokens is None or tokens == []:
        return True
    if not isinstance(tokens, list) or not are_likely(tokens):
        return False
    likely = [token.get("top_logprobs") for token in tokens]
    return _LIST.issuperset(map(type, likely)) and are_likely(list(chain.from_iterable(likely)))


def are_likely(tokens: object) -> bool:
    """Whether these are tokens, each with its probability; there may be tens of thousands of them."""
    if not isinstance(tokens, list) or not _OBJECT.issuperset(map(type, tokens)):
        return tokens is None
    return _TEXT.issuperset(map(type, map(dict.get, tokens, repeat("token")))) and _NUMBER.issuperset(
        map(type, map(dict.get, tokens, repeat("logprob")))
    )


def _is_usage(usage: object) -> bool:
    if not isinstance(usage, dict):
        return False
    details = ((usage.get(name), counts) for name, counts in _DETAILS.items())
    return _are(_NUMBER_IF_ANY, usage, *_COUNTS) and all(
        each is None or (isinstance(each, dict) and _are(_NUMBER_IF_ANY, each, *counts)) for each, counts in details
    )
