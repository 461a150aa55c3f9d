"""Find the words of a search in a text, as the index does, with the text around them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_BEFORE, _AFTER = 50, 130
_LETTER = r"[^\W_]"
_MARKS = r"[\W_]+"


class Piece(NamedTuple):
    """A piece of a text; `is_found` marks the words that were searched for."""

    text: str
    is_found: bool


def words_pattern(text: str) -> re.Pattern[str] | None:
    """A pattern that finds any of a search's terms as the index does: whole words, and the last word of a term by its
    beginning. None if there are no words."""
    terms = [re.findall(rf"{_LETTER}+", term) for term in text.split()]
    phrases = [_MARKS.join(map(re.escape, words)) for words in terms if words]
    if not phrases:
        return None
    return re.compile(rf"(?<!{_LETTER})(?:{'|'.join(phrases)}){_LETTER}*", re.IGNORECASE)


def pieces_of(wanted: re.Pattern[str], text: str) -> list[Piece]:
    """The text around the first match, on one line; empty if there is no match."""
    first = wanted.search(text)
    if first is None:
        return []
    start = max(0, first.start() - _BEFORE)
    end = min(len(text), first.end() + _AFTER)
    return [
        *([Piece("…", False)] if start else []),
        *_cut(wanted, " ".join(text[start:end].split())),
        *([Piece("…", False)] if end < len(text) else []),
    ]


def _cut(wanted: re.Pattern[str], text: str) -> Iterator[Piece]:
    at = 0
    for match in wanted.finditer(text):
        yield Piece(text[at : match.start()], False)
        yield Piece(match[0], True)
        at = match.end()
    yield Piece(text[at:], False)
