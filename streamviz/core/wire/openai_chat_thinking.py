"""The thinking in a message, or a delta, of OpenAI's chat: providers have many fields for it, and fill several.

Some put it into the content, as a part with a type of its own.
"""

from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text, objects

# Bedrock's own members, which LiteLLM passes on beside what it makes of them.
BEDROCKS = ("reasoningContent", "reasoningContentBlocks")
# The same thinking can come in several of these: the first that holds text counts.
THINKING_FIELDS = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
    "reasoning_details",
    "thinking_blocks",
    *BEDROCKS,
)
# Where LiteLLM repeats these fields, and puts Bedrock's.
SPECIFIC = "provider_specific_fields"
# Where an object or a part of thinking has its text, and its other members.
_TEXTS = ("text", "summary", "thinking", "content", "reasoning")
_ABOUT = frozenset(
    {"type", "id", "format", "index", "effort", "signature", "data", "encrypted_content", "redactedContent"}
)


class Thinking(NamedTuple):
    """The text of the thinking, its signature, the fields that have the text, and whether they differ. Encrypted
    thinking is kept as a signature."""

    text: str
    signature: str
    fields: frozenset[str]
    is_odd: bool


def thinking_in(words: JsonObject) -> Thinking:
    """The thinking of a message or a delta."""
    places = (("", words), (SPECIFIC, as_object(words.get(SPECIFIC))))
    values = {f"{of} {key}": value for of, each in places for key in THINKING_FIELDS if (value := each.get(key))}
    texts = {name: text for name, value in values.items() if (text := text_of(value))}
    text = next(iter(texts.values()), "")
    signature = next((found for value in values.values() if (found := _signature_of(value))), "")
    return Thinking(text, signature, frozenset(texts), not all(is_same(text, other) for other in texts.values()))


def _signature_of(value: object) -> str:
    return "".join(as_text(part.get("signature")) or as_text(part.get("data")) for part in objects(value))


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
