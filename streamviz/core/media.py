"""Images and sounds in an answer: of what type they are and how large, whatever their format calls that."""

from collections.abc import Iterator
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_text, decode, objects

# Parts of OpenAI's chat that are media, as are whole fields of it; and of Gemini's.
CHAT_PARTS = frozenset({"image_url", "input_image", "output_image", "image", "input_audio", "audio", "video_url"})
GEMINI_PARTS = frozenset({"inlineData", "inline_data", "fileData", "file_data"})
_TYPES = ("mimeType", "mime_type", "media_type")
_PLACES = ("url", "fileUri", "file_uri", "uri")
# What their bytes begin with, in base64, where nobody says.
_SIGNS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "SUQz": "audio/mpeg",
    "T2dnUw": "audio/ogg",
    "ZkxhQ": "audio/flac",
}
_LONGEST_TYPE = 100


class Medium(NamedTuple):
    """One of them: its MIME type, "" where that is not known; its bytes in base64, and how many those are, or else
    where it is."""

    type: str
    data: str = ""
    size: int = 0
    address: str = ""


def media_in(payload: str) -> list[Medium]:
    """Those that the text of a block has, which is JSON; none where it is not, or not whole."""
    try:
        value = decode(payload)
    except ValueError:
        return []
    return [medium for each in objects(value) for medium in _media(each)]


def _media(value: JsonObject) -> Iterator[Medium]:
    for inner in (value.get(key) for key in ("image_url", "input_audio", "video_url", "audio", "image", "source")):
        if isinstance(inner, str):
            yield _at(inner, "")
            return
        if isinstance(inner, dict):
            yield from _media(inner)
            return
    type = next((found for key in _TYPES if (found := as_text(value.get(key)))), "")
    if data := as_text(value.get("data")) or as_text(value.get("b64_json")):
        yield _known(data, type or _named(as_text(value.get("format"))))
    elif address := next((found for key in _PLACES if (found := as_text(value.get(key)))), ""):
        yield _at(address, type)


def _named(format: str) -> str:
    return f"audio/{format}" if format else ""


def _at(address: str, type: str) -> Medium:
    if not address.startswith("data:"):
        return Medium(type[:_LONGEST_TYPE], address=address)
    head, _, data = address[len("data:") :].partition(",")
    return _known(data, head.partition(";")[0])


def _known(data: str, type: str) -> Medium:
    type = type or next((known for sign, known in _SIGNS.items() if data.startswith(sign)), "")
    return Medium(type[:_LONGEST_TYPE], data, max(0, len(data) * 3 // 4 - data[-2:].count("=")))
