"""Where two texts differ, word by word."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
# Comparing longer ones word by word takes too long: only what they share at both ends is found.
_MOST_WORDS = 800


class Part(NamedTuple):
    """A piece of both texts; if only one of them has it, it is empty in the other."""

    before: str
    after: str

    @property
    def is_same(self) -> bool:
        return self.before == self.after


def difference(before: str, after: str) -> list[Part]:
    """Both texts in parts that are the same, or that replace each other."""
    left, right = _WORD.findall(before), _WORD.findall(after)
    begins = _shared(left, right)
    ends = _shared(left[begins:][::-1], right[begins:][::-1])
    middle = left[begins : len(left) - ends], right[begins : len(right) - ends]
    parts = [Part("".join(left[:begins]), "".join(left[:begins])), *_middle(*middle)]
    if ends:
        parts.append(Part("".join(left[-ends:]), "".join(left[-ends:])))
    return [part for part in parts if part.before or part.after]


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = zip(left, right, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def _middle(left: list[str], right: list[str]) -> list[Part]:
    if max(len(left), len(right)) > _MOST_WORDS:
        return [Part("".join(left), "".join(right))]
    found = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [Part("".join(left[a:b]), "".join(right[c:d])) for _, a, b, c, d in found]
