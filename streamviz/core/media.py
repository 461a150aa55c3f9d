"""Images and sounds in an answer: of what type they are and how large, whatever their format calls that."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from streamviz.core.json_value import JsonObject, as_text, decode, objects

# Parts of OpenAI's chat and responses that are media, as are whole fields of chat; and of Gemini's.
CHAT_PARTS = frozenset({"image_url", "input_image", "output_image", "image", "input_audio", "audio", "video_url"})
GEMINI_PARTS = frozenset({"inlineData", "inline_data", "fileData", "file_data"})
_TYPES = ("mimeType", "mime_type", "media_type")
_INNER = ("image_url", "input_audio", "video_url", "audio", "image", "source")
_DATA = ("data", "b64_json", "result", PREVIEW := "partial_image_b64")
_PLACES = ("url", "fileUri", "file_uri", "uri")
# What their bytes begin with, where nobody says.
_SIGNS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"ID3": "audio/mpeg",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
    b"%PDF-": "application/pdf",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_SIGN_CHARACTERS = 16
_LONGEST_TYPE = 100


class Medium(NamedTuple):
    """One of them: its MIME type, "" where that is not known; its bytes in base64, and how many those are, or else
    where it is. A preview is an image before it is finished; what is no `piece` is all of it."""

    type: str
    data: str = ""
    size: int = 0
    address: str = ""
    is_preview: bool = False
    is_piece: bool = False

    def goes_on_in(self, other: "Medium") -> bool:
        """Whether `other` is the next piece of this sound. An image is never in pieces."""
        return self.is_piece and other.is_piece and other.type in (self.type, "")


def media_in(payload: str) -> list[Medium]:
    """Those that the text of a block has, which is lines of JSON; none of a line that is not, or not whole. A sound
    that came in pieces, a line each, is one."""
    found: list[list[Medium]] = []
    for line in payload.split("\n"):
        for medium in media_of_line(line):
            if found and found[-1][0].goes_on_in(medium):
                found[-1].append(medium)
            else:
                found.append([medium])
    return [_joined(pieces) for pieces in found]


def media_of_line(line: str) -> list[Medium]:
    """Those that one line has, as they are there."""
    try:
        value = decode(line)
    except ValueError:
        return []
    found = [medium for each in objects(value) for medium in _media(each)]
    return [medium._replace(is_piece=isinstance(value, dict) and _is_sound(value, medium)) for medium in found]


def _is_sound(value: JsonObject, medium: Medium) -> bool:
    """Whether what a line has may be a piece of a sound; where no type is known, it is in the member of one."""
    return bool(medium.data) and (is_sound(medium.type) or ("data" in value and not medium.type))


def is_same_sound(pieces: str, whole: str) -> bool:
    """Whether a sound that came in pieces is the one that `whole` has, in base64."""
    data = "".join(medium.data for medium in media_in(pieces))
    said = _bytes_of(data)
    return data == whole or (bool(said) and said == _bytes_of(whole))


def is_sound(type: str) -> bool:
    """Whether a MIME type is of sounds."""
    return type.startswith("audio/")


def type_of_part(part: JsonObject) -> str:
    """The MIME type that a part of Gemini's says it has."""
    return _first(part, _TYPES)


def media_within(payload: str) -> list[Medium]:
    """Those whose type can be told, however deep they are in JSON that is about something else, as what a tool
    answered."""
    try:
        waiting: list[object] = [decode(payload)]
    except ValueError:
        return []
    found: list[Medium] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            own = [medium for medium in _media(value) if medium.type]
            found += own
            waiting += [] if own else reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
    return found


def _media(value: JsonObject) -> Iterator[Medium]:
    for inner in (value.get(key) for key in _INNER):
        if isinstance(inner, str):
            yield _at(inner, "")
            return
        if isinstance(inner, dict):
            yield from _media(inner)
            return
    type = _first(value, _TYPES) or _named("image", value.get("output_format"))
    if data := _first(value, _DATA):
        yield _known(data, type or _named("audio", value.get("format")))._replace(is_preview=PREVIEW in value)
    elif address := _first(value, _PLACES):
        yield _at(address, type)


def _first(value: JsonObject, names: Iterable[str]) -> str:
    return next((found for key in names if (found := as_text(value.get(key)))), "")


def _named(kind: str, format: object) -> str:
    return f"{kind}/{format}" if format and isinstance(format, str) else ""


def _at(address: str, type: str) -> Medium:
    if not address.startswith("data:"):
        return Medium(type[:_LONGEST_TYPE], address=address)
    head, _, data = address[len("data:") :].partition(",")
    return _known(data, head.partition(";")[0])


def _known(data: str, type: str) -> Medium:
    return Medium((type or _type_of(data))[:_LONGEST_TYPE], data, max(0, len(data) * 3 // 4 - data[-2:].count("=")))


def _type_of(data: str) -> str:
    start = _bytes_of(data[:_SIGN_CHARACTERS])
    if start.startswith(b"RIFF"):
        return _RIFF.get(start[8:12], "")
    return next((type for sign, type in _SIGNS.items() if start.startswith(sign)), "")


def _joined(pieces: list[Medium]) -> Medium:
    """A sound; each of its pieces may be padded by itself."""
    first, size = pieces[0]._replace(is_piece=False), sum(piece.size for piece in pieces)
    if not any(piece.data.endswith("=") for piece in pieces[:-1]):
        return first._replace(data="".join(piece.data for piece in pieces), size=size)
    data = b"".join(_bytes_of(piece.data) for piece in pieces)
    return first._replace(data=b64encode(data).decode(), size=len(data))


def _bytes_of(data: str) -> bytes:
    """What is no base64 is nothing."""
    try:
        return b64decode(data + "=" * (-len(data) % 4))
    except ValueError:
        return b""
