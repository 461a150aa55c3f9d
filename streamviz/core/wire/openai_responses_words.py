"""Which events have text, where a part of a message or of thinking has it, and which other members may have some."""

from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, as_json_text
from streamviz.core.media import CHAT_PARTS
from streamviz.core.wire.openai_responses_calls import is_result, split_word

# The type of a spoken part of a message: its text is its transcript, its sound a block beside that.
SPEECH = "output_audio"
# By the type of a part: the kind of its block, and the member that holds its text.
PARTS = {
    "output_text": (BlockKind.CONTENT, "text"),
    "text": (BlockKind.CONTENT, "text"),
    SPEECH: (BlockKind.CONTENT, "transcript"),
    "refusal": (BlockKind.REFUSAL, "refusal"),
    "reasoning_text": (BlockKind.THINKING, "text"),
    "summary_text": (BlockKind.THINKING, "text"),
}
# By the middle words of an event: the type of its item, the type of the part if that is a message, and the field that
# has the whole text at its end.
TEXTS = {
    "output_text": ("message", "output_text", "text"),
    "refusal": ("message", "refusal", "refusal"),
    "audio_transcript": ("message", SPEECH, "transcript"),
    "output_audio_transcript": ("message", SPEECH, "transcript"),
    "reasoning_text": ("reasoning", "", "text"),
    "reasoning_summary_text": ("reasoning", "", "text"),
    "reasoning_summary": ("reasoning", "", "text"),
    "reasoning": ("reasoning", "", "text"),
    "reasoning_content": ("reasoning", "", "text"),
    "function_call_arguments": ("function_call", "", "arguments"),
    "custom_tool_call_input": ("custom_tool_call", "", "input"),
}
_PARTS_OF = {"content_part": "message", "reasoning_summary_part": "reasoning", "reasoning_part": "reasoning"}
# The bytes of speech, which come beside its text, the transcript.
SOUNDS = ("audio", "output_audio")
# Members that may have text in a part beside its own, or in an item beside its parts.
_TEXTS = (
    "text",
    "refusal",
    "transcript",
    "thinking",
    "reasoning",
    "reasoning_content",
    "reasoning_text",
    "output_text",
)


def item_type_in(event: str) -> str:
    """The type of the item that an event of this type adds to, as readers take it; empty if that does not say."""
    match event.split("."):
        case ["response", *words, "delta" | "done" | "added" | "partial_image"]:
            word = "_".join(words)
        case _:
            return ""
    if word in TEXTS:
        return TEXTS[word][0]
    type, field = split_word(word)
    of_call = type if field and not is_result(field) else word
    return "message" if word in SOUNDS else _PARTS_OF.get(word, of_call)


def kind_of(label: str) -> BlockKind:
    """The kind of block that a part of this type makes."""
    if label in PARTS:
        return PARTS[label][0]
    return BlockKind.MEDIA if label in CHAT_PARTS else BlockKind.OTHER


def parts_in(value: object) -> list[JsonObject]:
    """The parts of a content or of a summary; anything that is not a part counts as a text part."""
    if isinstance(value, list):
        return [part if isinstance(part, dict) else _part(part) for part in value]
    return [value] if isinstance(value, dict) else [_part(value)] if value else []


def _part(value: object) -> JsonObject:
    return {"type": "text", "text": as_json_text(value)}


def texts_in(part: JsonObject) -> list[str]:
    """The text of a part, followed by different ones in other members: clients may read any."""
    own = PARTS.get(as_json_text(part.get("type")), (None, "text"))[1]
    said = [as_json_text(part[key]) for key in (own, *_TEXTS, "content") if part.get(key)]
    return list(dict.fromkeys(said))


def texts_beside(item: JsonObject) -> list[str]:
    """The texts that an item has beside its parts."""
    return list(dict.fromkeys(as_json_text(item[key]) for key in _TEXTS if item.get(key)))


def said_in(item: JsonObject) -> bool:
    """Whether an item of thinking has any text."""
    parts = [part for key in ("summary", "content") for part in parts_in(item.get(key))]
    return bool(texts_beside(item)) or any(map(texts_in, parts))
