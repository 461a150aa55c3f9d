"""The parts of the contents in a request to Gemini, which accepts names in camelCase and in snake_case."""

from collections.abc import Iterator

from streamviz.core.json_value import JsonObject, as_object, as_text, encode, objects
from streamviz.core.request_parts import Part, PartKind, call, media, other, result, text


def parts_of(content: JsonObject) -> Iterator[Part]:
    """The parts of one content, in order."""
    role = as_text(content.get("role")) or "user"
    for part in objects(content.get("parts")):
        yield from _part(role, part)


def _part(role: str, part: JsonObject) -> Iterator[Part]:
    made, answered = either(part, "functionCall"), either(part, "functionResponse")
    source = either(part, "inlineData") or either(part, "fileData")
    if isinstance(part.get("text"), str):
        kind = PartKind.THINKING if part.get("thought") is True else PartKind.TEXT
        yield from text(role, part["text"], kind)
    elif made:
        yield call(role, made.get("name"), made.get("args"), made.get("id"))
    elif answered:
        yield from result(answered.get("id"), _answer(answered), answered.get("name"))
    elif source:
        yield media(role, "file", source)
    else:
        yield other(role, part)


def _answer(answered: JsonObject) -> Iterator[Part]:
    """The text of a response: an object, in which clients mostly set just `output` or `result`, to a string."""
    response = answered.get("response")
    inner = as_object(response)
    lone = next(iter(inner.values())) if len(inner) == 1 else None
    yield from text("tool", lone if isinstance(lone, str) else encode(response).decode("utf-8", "replace"))


def either(part: JsonObject, name: str) -> JsonObject:
    """A member by its name, in camelCase or in snake_case."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return as_object(part.get(name)) or as_object(part.get(snake))
