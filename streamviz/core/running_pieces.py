"""The pieces of a running text on its way to the client, and how they are cut."""

from collections import deque
from collections.abc import Sequence

import msgspec

from streamviz.core.policy import Edit


class Piece(msgspec.Struct, frozen=True, gc=False):
    """A piece of text on its way, and how many of upstream's characters it stands for: an unchanged one that stands for
    none went out with an earlier block."""

    text: str
    source: int
    is_changed: bool


def parted(piece: Piece, source: int) -> tuple[Piece, Piece]:
    """A piece cut after `source` of upstream's characters; changed text goes with the first part as a whole."""
    left = piece.source - source
    if piece.is_changed:
        return Piece(piece.text, source, True), Piece("", left, True)
    return Piece(piece.text[:source], source, False), Piece(piece.text[source:], left, False)


def is_earlier(piece: Piece) -> bool:
    """Whether a piece went out with an earlier block."""
    return not piece.source and not piece.is_changed


def cut(waiting: deque[Piece], safe: int, edits: Sequence[Edit]) -> list[Piece]:
    """Take the first `safe` characters off `waiting`, with the edits made in them."""
    front = _Front(waiting)
    gone: list[Piece] = []
    at = 0
    for edit in edits:
        gone += front.take(edit.start - at)
        covered = front.take(edit.end - edit.start)
        gone.append(Piece(edit.text, sum(piece.source for piece in covered), True))
        at = edit.end
    gone += front.take(safe - at)
    front.close()
    return gone


class _Front:
    """Takes characters off the front of pieces. The rest of a piece is made only once, in `close`: one piece can be all
    of an answer, with thousands of edits in it."""

    def __init__(self, pieces: deque[Piece]) -> None:
        self._pieces = pieces
        self._at = 0

    def take(self, length: int) -> list[Piece]:
        """The next `length` characters, and pieces without text that follow them."""
        taken: list[Piece] = []
        while self._pieces and (length > 0 or not self._pieces[0].text):
            piece = self._pieces[0]
            end = min(len(piece.text), self._at + length)
            length -= end - self._at
            taken.append(self._part(piece, end))
            self._at = end
            if end == len(piece.text):
                self._pieces.popleft()
                self._at = 0
        return taken

    def close(self) -> None:
        if self._at:
            self._pieces[0] = self._part(self._pieces[0], len(self._pieces[0].text))

    def _part(self, piece: Piece, end: int) -> Piece:
        """A part of a piece. If a changed piece is cut, its first part counts for all of its source."""
        text = piece.text[self._at : end]
        if not piece.is_changed:
            return Piece(text, len(text) if piece.source else 0, False)
        return Piece(text, 0 if self._at else piece.source, True)
