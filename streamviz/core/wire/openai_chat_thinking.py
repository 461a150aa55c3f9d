"""The thinking in a message, or a delta, of OpenAI's chat: providers have many fields for it, and fill several.

Some have it in a part of the content, which is of a type, as any part is.
"""

from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text, objects

# What Bedrock itself sent, as LiteLLM passes it on beside what it made of it.
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
# Where LiteLLM has the same fields again, and Bedrock's.
SPECIFIC = "provider_specific_fields"
_TEXTS = ("text", "summary", "thinking", "content", "reasoning")
# What is no text of an object that says thinking.
_ABOUT = frozenset(
    {"type", "id", "format", "index", "effort", "signature", "data", "encrypted_content", "redactedContent"}
)


class Thinking(NamedTuple):
    """What is thought; whether fields differ about it. Encrypted thinking is kept as a signature is."""

    text: str
    signature: str
    is_odd: bool


def thinking_in(words: JsonObject) -> Thinking:
    """The thinking of a message or a delta."""
    fields = (words, as_object(words.get(SPECIFIC)))
    values = [value for each in fields for key in THINKING_FIELDS if (value := each.get(key))]
    texts = [text for value in values if (text := text_of(value))]
    text = texts[0] if texts else ""
    signature = next((found for value in values if (found := _signature_of(value))), "")
    return Thinking(text, signature, not all(is_same(text, other) for other in texts))


def text_of(value: object) -> str:
    """The text of a field of thinking, whatever its shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_of, value))
    if not isinstance(value, dict):
        return ""
    said: JsonObject = value
    known = next((text for name in _TEXTS if (text := text_of(said.get(name)))), "")
    return known or "".join(text_of(inner) for key, inner in said.items() if key not in _ABOUT)


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
    """Whether two texts are the same thinking; parts are joined with white space, or without."""
    return one == other or "".join(one.split()) == "".join(other.split())


def _signature_of(value: object) -> str:
    return "".join(as_text(part.get("signature")) or as_text(part.get("data")) for part in objects(value))
