"""An image or a sound: its type, which is found from its first bytes if it is not declared, and its size."""

from base64 import b64decode
from typing import NamedTuple

# What the bytes of media begin with, in case the type is not declared.
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
    """An image or a sound: its MIME type, "" if that is not known; its bytes in base64, and how many those are, or else
    its address. A preview is an image before it is finished. Unless `is_piece`, it is whole."""

    type: str
    data: str = ""
    size: int = 0
    address: str = ""
    is_preview: bool = False
    is_piece: bool = False

    def goes_on_in(self, other: "Medium") -> bool:
        """Whether `other` is the next piece of this sound. An image is never in pieces."""
        return self.is_piece and other.is_piece and other.type in (self.type, "")


def is_sound(type: str) -> bool:
    """Whether a MIME type is that of a sound."""
    return type.startswith("audio/")


def medium_at(address: str, type: str) -> Medium:
    """A medium at an address, which may contain its bytes."""
    if not address.startswith("data:"):
        return Medium(type[:_LONGEST_TYPE], address=address)
    head, _, data = address[len("data:") :].partition(",")
    return medium_of(data, head.partition(";")[0])


def medium_of(data: str, type: str) -> Medium:
    """A medium whose bytes came with it, in base64."""
    return Medium((type or _type_of(data))[:_LONGEST_TYPE], data, size_of(data))


def size_of(data: str) -> int:
    """How many bytes a base64 text stands for."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))


def _type_of(data: str) -> str:
    start = bytes_of(data[:_SIGN_CHARACTERS])
    if start.startswith(b"RIFF"):
        return _RIFF.get(start[8:12], "")
    return next((type for sign, type in _SIGNS.items() if start.startswith(sign)), "")


def bytes_of(data: str) -> bytes:
    """The bytes of a base64 text; none if it is not base64."""
    try:
        return b64decode(data + "=" * (-len(data) % 4))
    except ValueError:
        return b""
