"""The thinking in a message, or a delta, of OpenAI's chat: providers have many fields for it, and fill several.

Some put it into the content, as a part with a type of its own.
"""

from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_object, as_text, objects
from streamviz.core.wire.openai_chat_thinking_texts import is_same, text_of

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
