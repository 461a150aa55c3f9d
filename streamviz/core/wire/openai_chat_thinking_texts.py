"""The texts of thinking in OpenAI's chat, in whatever shape a field or a part has them."""

from streamviz.core.json_value import JsonObject, as_object, as_text

_TEXTS = ("text", "summary", "thinking", "content", "reasoning")
# Members of an object of thinking that are not its text.
_ABOUT = frozenset(
    {"type", "id", "format", "index", "effort", "signature", "data", "encrypted_content", "redactedContent"}
)


def text_of(value: object) -> str:
    """The text of a field of thinking, whatever its shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_of, value))
    if not isinstance(value, dict):
        return ""
    said: JsonObject = value
    # Each member is read once: if it were read twice, the time would double with each level.
    texts = {name: text_of(inner) for name, inner in said.items() if name not in _ABOUT}
    return next((texts[name] for name in _TEXTS if texts.get(name)), "") or "".join(texts.values())


def part_text(part: JsonObject, kind: str) -> str:
    """The text of a part of the content; one of thinking may hold a list of parts."""
    for key in (kind, "text", "content", "summary"):
        value = part.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return "".join(each if isinstance(each, str) else as_text(as_object(each).get("text")) for each in value)
    return ""


def is_same(one: str, other: str) -> bool:
    """Whether two texts are the same thinking; parts may be joined with white space, or without."""
    return one == other or "".join(one.split()) == "".join(other.split())
