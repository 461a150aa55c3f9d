"""A provider's answer without the credential of the call, which it may quote: it is not for clients, nor for the
record."""

import re

# So long, and with a digit, is what somebody made to be secret; not `lm-studio`, `EMPTY` or `no-key-required`.
_SECRET = re.compile(r"(?=.*\d)\S{16,}", re.ASCII)


class QuotedKey:
    """Masks one credential in the bytes of an answer, however they come in pieces; all else stays where it was."""

    def __init__(self, key: str) -> None:
        self._key = key.encode() if _SECRET.fullmatch(key) else b""
        self._mask = b"*" * len(self._key)
        self._begun = b""

    def without(self, piece: bytes) -> bytes:
        """What may go on of all that has come; the beginning of the credential at its end waits for the next piece.
        No event ends so, nor does a JSON value."""
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
        """Whether something waits."""
        return bool(self._begun)

    def rest(self) -> bytes:
        """What waited, where nothing follows."""
        begun, self._begun = self._begun, b""
        return begun


def _begins_at(piece: bytes, key: bytes) -> int:
    """Where the piece ends with the beginning of the key; its length where it does not."""
    at = piece.find(key[:1], max(0, len(piece) - len(key) + 1))
    while at >= 0:
        if key.startswith(piece[at:]):
            return at
        at = piece.find(key[:1], at + 1)
    return len(piece)
