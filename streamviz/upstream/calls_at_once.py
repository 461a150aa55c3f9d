"""How many calls a turn of a request has. For some providers LiteLLM searches all calls of a turn for each result:
4,000 of them would hold up every other stream for seconds."""

from collections.abc import Iterable, Iterator, Sequence

from streamviz.core.errors import RequestError
from streamviz.core.json_value import JsonObject, as_list, as_object, as_text, objects

# No model makes as many at once.
_MOST = 256
_CALLS = frozenset({"custom_tool_call", "function_call"})
# What may stand between calls in the model's turn.
_BESIDE = frozenset({"", "message", "reasoning"})


def require_few(counts: Iterable[int]) -> None:
    """Raises RequestError (413) if a turn has more calls than anybody makes."""
    if max(counts, default=0) > _MOST:
        raise RequestError(413, f"A turn of the request has more than {_MOST} calls.", code="too_large")


def in_chat(messages: object) -> Iterator[int]:
    """The number of calls in each message."""
    return (len(as_list(message.get("tool_calls"))) for message in objects(messages))


def in_messages(messages: Sequence[object]) -> Iterator[int]:
    """The same for Anthropic's messages."""
    for message in objects(messages):
        yield sum(as_object(block).get("type") == "tool_use" for block in as_list(message.get("content")))


def in_items(items: Sequence[object]) -> Iterator[int]:
    """The number of calls in each of the model's turns; in OpenAI's responses format calls are items of their own."""
    count = 0
    for item in map(as_object, items):
        if as_text(item.get("type")) in _CALLS:
            count += 1
        elif not _is_beside(item):
            yield count
            count = 0
    yield count


def _is_beside(item: JsonObject) -> bool:
    return as_text(item.get("type")) in _BESIDE and item.get("role") in (None, "assistant")
