"""The words that one word of a shell script becomes, by its braces and by blanks in its variables."""

from collections.abc import Iterator
from itertools import pairwise

from streamviz.policies.shell.words import CLOSE, COMMA, GAP, MARKS, OPEN

MOST_WORDS = 200


def split(text: str) -> Iterator[str]:
    """The words that one word becomes: where an unquoted variable has blanks, and for each choice of its braces.
    Raises ValueError where these are too many."""
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
    """The first braces with a comma in them, each choice in its place; None where there are none."""
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
    """Where the commas of the braces that open at `start` are, and their end; -1 where they have none."""
    depth = 0
    commas: list[int] = []
    for at in range(start, len(word)):
        depth += (word[at] == OPEN) - (word[at] == CLOSE)
        if depth == 0:
            return commas, at
        if depth == 1 and word[at] == COMMA:
            commas.append(at)
    return commas, -1
