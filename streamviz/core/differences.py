"""Where two texts differ, word by word."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
# Of longer texts, only what they share at both ends is found. So it is of all others once so many pairs of words have
# been compared, which takes half a second: each pair once, and those that are alike up to once per word.
_MOST_WORDS = 800
_MOST_COMPARED = 20_000_000


class Part(NamedTuple):
    """A piece of both texts; if only one of them has it, it is empty in the other."""

    before: str
    after: str

    @property
    def is_same(self) -> bool:
        return self.before == self.after


class Differ:
    """Compares texts word by word, as long as that costs little for all of them together."""

    def __init__(self) -> None:
        self._left = _MOST_COMPARED

    def parts(self, before: str, after: str) -> list[Part]:
        """Both texts in parts that are the same, or that replace each other."""
        left, right = _WORD.findall(before), _WORD.findall(after)
        begins = _shared(left, right)
        ends = _shared(left[begins:][::-1], right[begins:][::-1])
        middle = left[begins : len(left) - ends], right[begins : len(right) - ends]
        parts = [_same(left[:begins]), *self._middle(*middle), _same(left[len(left) - ends :])]
        return [part for part in parts if part.before or part.after]

    def _middle(self, left: list[str], right: list[str]) -> list[Part]:
        compared = _compared(left, right) if max(len(left), len(right)) <= _MOST_WORDS else _MOST_COMPARED + 1
        if compared > self._left:
            return [Part("".join(left), "".join(right))]
        self._left -= compared
        # Whitespace is the same everywhere, and a match of it alone shows nothing.
        found = SequenceMatcher(str.isspace, left, right, autojunk=False).get_opcodes()
        return [Part("".join(left[a:b]), "".join(right[c:d])) for _, a, b, c, d in found]


def _same(words: list[str]) -> Part:
    return Part("".join(words), "".join(words))


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = zip(left, right, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def _compared(left: Sequence[str], right: Sequence[str]) -> int:
    """How many pairs of words may be compared for these."""
    in_left, in_right = Counter(left), Counter(right)
    alike = sum(number * in_right[word] for word, number in in_left.items() if not word.isspace())
    return len(left) * len(right) + alike * min(len(left), len(right))
