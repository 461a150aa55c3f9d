"""The parts of the messages in a request for Anthropic's messages."""

from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_object, as_text
from streamviz.core.request_parts import Part, PartKind, call, each_of, media, other, result, text

_MEDIA = {"image": "image", "document": "document", "container_upload": "file"}


def parts_of(message: JsonObject) -> Iterator[Part]:
    """The parts of one message, in order."""
    role = as_text(message.get("role"))
    for each in each_of(message.get("content")):
        yield from _part(role, each)


def _part(role: str, content: object) -> Iterator[Part]:
    if isinstance(content, str):
        yield from text(role, content)
        return
    part = as_object(content)
    kind = as_text(part.get("type"))
    if kind == "text":
        yield from text(role, part.get("text"))
    elif kind == "thinking":
        yield from text(role, part.get("thinking"), PartKind.THINKING)
    elif kind == "redacted_thinking":
        yield Part(PartKind.THINKING, role, name="redacted", size=len(as_text(part.get("data"))))
    elif kind in _MEDIA:
        yield media(role, _MEDIA[kind], part.get("source", part))
    elif kind.endswith("tool_use"):
        yield call(role, part.get("name"), part.get("input"), part.get("id"))
    elif kind.endswith("tool_result"):
        inner = (found for each in each_of(part.get("content")) for found in _inner(role, each))
        yield from result(part.get("tool_use_id"), inner, is_error=part.get("is_error") is True)
    else:
        yield other(role, content)


def _inner(role: str, content: object) -> Iterator[Part]:
    """The parts of a result's content. A result in a result is `other`, as the format has none there."""
    if as_text(as_object(content).get("type")).endswith("tool_result"):
        yield other(role, content)
    else:
        yield from _part(role, content)
