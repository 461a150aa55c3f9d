"""Images and sounds in an answer: their type and size, whatever their format calls those."""

from collections.abc import Iterable, Iterator

from streamviz.core.json_value import JsonObject, as_text, decode
from streamviz.core.medium import Medium, medium_at, medium_of

# Parts that are media: of OpenAI's chat and responses (some are whole fields of chat), and of Gemini's.
CHAT_PARTS = frozenset({"image_url", "input_image", "output_image", "image", "input_audio", "audio", "video_url"})
GEMINI_PARTS = frozenset({"inlineData", "inline_data", "fileData", "file_data"})
_TYPES = ("mimeType", "mime_type", "media_type")
_INNER = ("image_url", "input_audio", "video_url", "audio", "image", "source")
_DATA = ("data", "b64_json", "result", PREVIEW := "partial_image_b64")
_PLACES = ("url", "fileUri", "file_uri", "uri")


def type_of_part(part: JsonObject) -> str:
    """The MIME type that a part of Gemini's declares."""
    return _first(part, _TYPES)


def media_within(payload: str) -> list[Medium]:
    """The media of known type at any depth of JSON that is about something else, such as a tool's result."""
    try:
        waiting: list[object] = [decode(payload)]
    except ValueError:
        return []
    found: list[Medium] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            own = [medium for medium in media_of(value) if medium.type]
            found += own
            waiting += [] if own else reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
    return found


def media_of(value: JsonObject) -> Iterator[Medium]:
    """The medium that an object is, or has in a member for media."""
    for inner in (value.get(key) for key in _INNER):
        if isinstance(inner, str):
            yield medium_at(inner, "")
            return
        if isinstance(inner, dict):
            yield from media_of(inner)
            return
    type = _first(value, _TYPES) or _named("image", value.get("output_format"))
    if data := _first(value, _DATA):
        yield medium_of(data, type or _named("audio", value.get("format")))._replace(is_preview=PREVIEW in value)
    elif address := _first(value, _PLACES):
        yield medium_at(address, type)


def _first(value: JsonObject, names: Iterable[str]) -> str:
    return next((found for key in names if (found := as_text(value.get(key)))), "")


def _named(kind: str, format: object) -> str:
    return f"{kind}/{format}" if format and isinstance(format, str) else ""
