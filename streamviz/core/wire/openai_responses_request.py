"""The parts of the items in a request for OpenAI's responses."""

from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.request_parts import (
    BETWEEN_AGENTS,
    Part,
    PartKind,
    call,
    each_of,
    media,
    other,
    readable,
    result,
    text,
)
from streamviz.core.wire.openai_responses_seals import summary_in

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_MEDIA = {"input_image": "image", "input_file": "file", "input_audio": "audio", "computer_screenshot": "image"}
_GIVEN = ("arguments", "input", "action", "operation", "code", "queries")


def parts_of(item: JsonObject) -> Iterator[Part]:
    """The parts of one item, in order. An answer's items have no role of their own."""
    kind = as_text(item.get("type"))
    role = as_text(item.get("role")) or ("user" if kind == BETWEEN_AGENTS else "assistant")
    if kind in ("", "message", BETWEEN_AGENTS) and "content" in item:
        for each in each_of(item.get("content")):
            yield from _part(role, each)
    elif kind == "reasoning":
        yield from _reasoning(role, item)
    elif kind.endswith("_output"):
        inner = (part for each in each_of(item.get("output")) for part in _part("tool", each))
        yield from result(item.get("call_id"), inner)
    elif kind.endswith("_call"):
        given = next((item[key] for key in _GIVEN if key in item), None)
        yield call(role, item.get("name") or kind.removesuffix("_call"), given, item.get("call_id") or item.get("id"))
    elif summary := summary_in(item):
        yield from text(role, summary)
    else:
        yield other(role, item)


def _reasoning(role: str, item: JsonObject) -> Iterator[Part]:
    told = [as_text(each.get("text")) for key in ("summary", "content") for each in objects(item.get(key))]
    said = "\n\n".join(each for each in told if each)
    if said:
        yield from text(role, said, PartKind.THINKING)
    else:
        yield Part(PartKind.THINKING, role, name="encrypted", size=len(as_text(item.get("encrypted_content"))))


def _part(role: str, content: object) -> Iterator[Part]:
    if isinstance(content, str):
        yield from text(role, content)
        return
    part = as_object(content)
    kind = as_text(part.get("type"))
    if kind in _TEXTS:
        yield from text(role, part.get("text"))
    elif said := readable(part):
        yield from text(role, said)
    elif kind == "refusal":
        yield from text(role, part.get("refusal"))
    elif kind in _MEDIA:
        yield media(role, _MEDIA[kind], part.get("input_audio", part))
    else:
        yield other(role, content)
