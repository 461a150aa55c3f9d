"""Masks the credential of the call in a provider's answer, which may quote it: neither clients nor the record may have
it."""

import re

# A key this long, with a digit, was made to be secret, unlike `lm-studio`, `EMPTY` or `no-key-required`.
_SECRET = re.compile(r"(?=.*\d)\S{16,}", re.ASCII)


class QuotedKey:
    """Masks one credential in the bytes of an answer, however these are cut into pieces; everything else keeps its
    place."""

    def __init__(self, key: str) -> None:
        self._key = key.encode() if _SECRET.fullmatch(key) else b""
        self._mask = b"*" * len(self._key)
        self._begun = b""

    def without(self, piece: bytes) -> bytes:
        """What can be passed on so far. If it ends with the beginning of the credential, that part waits for the next
        piece. No event or JSON value ends that way."""
        key = self._key
        if not key:
            return piece
        if self._begun:
            piece, self._begun = self._begun + piece, b""
        if key in piece:
            piece = piece.replace(key, self._mask)
        end = _begins_at(piece, key)
        if end < len(piece):
            self._begun = piece[end:]
            return piece[:end]
        return piece

    @property
    def has_begun(self) -> bool:
        """Whether something is waiting."""
        return bool(self._begun)

    def rest(self) -> bytes:
        """What was waiting, once nothing follows."""
        begun, self._begun = self._begun, b""
        return begun


def _begins_at(piece: bytes, key: bytes) -> int:
    """Where the beginning of the key starts at the end of the piece; the piece's length if there is none."""
    at = piece.find(key[:1], max(0, len(piece) - len(key) + 1))
    while at >= 0:
        if key.startswith(piece[at:]):
            return at
        at = piece.find(key[:1], at + 1)
    return len(piece)
