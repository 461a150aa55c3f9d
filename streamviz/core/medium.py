"""An image or a sound: of what type it is, which its first bytes tell where nobody says it, and how large."""

from base64 import b64decode
from typing import NamedTuple

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


def is_sound(type: str) -> bool:
    """Whether a MIME type is of sounds."""
    return type.startswith("audio/")


def medium_at(address: str, type: str) -> Medium:
    """One that is at an address, which may hold its bytes."""
    if not address.startswith("data:"):
        return Medium(type[:_LONGEST_TYPE], address=address)
    head, _, data = address[len("data:") :].partition(",")
    return medium_of(data, head.partition(";")[0])


def medium_of(data: str, type: str) -> Medium:
    """One whose bytes came along, in base64."""
    return Medium((type or _type_of(data))[:_LONGEST_TYPE], data, max(0, len(data) * 3 // 4 - data[-2:].count("=")))


def _type_of(data: str) -> str:
    start = bytes_of(data[:_SIGN_CHARACTERS])
    if start.startswith(b"RIFF"):
        return _RIFF.get(start[8:12], "")
    return next((type for sign, type in _SIGNS.items() if start.startswith(sign)), "")


def bytes_of(data: str) -> bytes:
    """What is no base64 is nothing."""
    try:
        return b64decode(data + "=" * (-len(data) % 4))
    except ValueError:
        return b""
