"""The parts of the messages in a request for chat completions."""

from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.request_parts import Part, PartKind, call, each_of, media, other, result, text

_MEDIA = {"image_url": "image", "input_audio": "audio", "file": "file", "video_url": "video"}


def parts_of(message: JsonObject) -> Iterator[Part]:
    """The parts of one message, in order."""
    role = as_text(message.get("role"))
    if role in ("tool", "function"):
        content = (part for each in each_of(message.get("content")) for part in _part(role, each))
        yield from result(message.get("tool_call_id"), content, message.get("name"))
        return
    for name in ("reasoning_content", "reasoning"):
        yield from text(role, message.get(name), PartKind.THINKING)
    for each in each_of(message.get("content")):
        yield from _part(role, each)
    yield from text(role, message.get("refusal"))
    for made in objects(message.get("tool_calls")):
        given = as_object(made.get("function")) or as_object(made.get("custom"))
        yield call(role, given.get("name"), given.get("arguments", given.get("input")), made.get("id"))
    if former := as_object(message.get("function_call")):
        yield call(role, former.get("name"), former.get("arguments"), "")


def _part(role: str, content: object) -> Iterator[Part]:
    if isinstance(content, str):
        yield from text(role, content)
        return
    part = as_object(content)
    kind = as_text(part.get("type"))
    if kind in ("text", "refusal"):
        yield from text(role, part.get(kind))
    elif kind in _MEDIA:
        yield media(role, _MEDIA[kind], part.get(kind))
    else:
        yield other(role, content)
