"""The words that one word of a shell script expands to, through braces and through blanks in variables."""

from collections.abc import Iterator
from itertools import pairwise

from streamviz.policies.shell.words import CLOSE, COMMA, GAP, MARKS, OPEN

MOST_WORDS = 200


def split(text: str) -> Iterator[str]:
    """The words that one word becomes: split at blanks of unquoted variables, and one for each choice of its braces.
    Raises ValueError if there are too many."""
    for piece in text.split(GAP):
        for word in _braces(piece):
            yield word.translate(MARKS)


def _braces(text: str) -> list[str]:
    words, made = [text], text.count(OPEN)
    done: list[str] = []
    while words:
        if made > MOST_WORDS:
            raise ValueError("braces with too many choices")
        word = words.pop()
        choices = _choices(word)
        if choices is None:
            done.append(word)
        else:
            words += reversed(choices)
            made += len(choices)
    return done


def _choices(word: str) -> list[str] | None:
    """The choices of the first braces with a comma in them, each put in their place; None if there are none."""
    start = word.find(OPEN)
    while start >= 0:
        commas, end = _inside(word, start)
        if end >= 0 and commas:
            cuts = [start, *commas, end]
            parts = [word[a + 1 : b] for a, b in pairwise(cuts)]
            return [word[:start] + part + word[end + 1 :] for part in parts]
        start = word.find(OPEN, start + 1)
    return None


def _inside(word: str, start: int) -> tuple[list[int], int]:
    """The positions of the commas in the braces that open at `start`, and of their end; -1 if they are not closed."""
    depth = 0
    commas: list[int] = []
    for at in range(start, len(word)):
        depth += (word[at] == OPEN) - (word[at] == CLOSE)
        if depth == 0:
            return commas, at
        if depth == 1 and word[at] == COMMA:
            commas.append(at)
    return commas, -1
