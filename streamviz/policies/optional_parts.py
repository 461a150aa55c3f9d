"""How many optional parts a pattern has in a row, with nothing required between them. RE2 takes time for each pair of
them when it compiles the pattern, and nothing else in the process runs meanwhile: 30,000, as in thirty times
`a{0,1000}`, take seconds."""

import re
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      \\Q.*?(?:\\E|\Z) | \\.                                            # quoted
    | \[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*+\]?                         # a class
    | (?P<open>\()(?:\?(?:P?<\w+>|[imsU-]*+:?))?
    | (?P<close>\))
    | (?P<or>\|)
    | \{(?P<least>\d{1,4})(?P<comma>,?)(?P<most>\d{0,4})\}\??
    | (?P<mark>[?*+])\??
    | [^\\\[(){}?*+|]+(?![?*+{])                                      # plain
    | .
    """,
    re.DOTALL | re.VERBOSE,
)
# Numbers are capped, as they grow with each nested repetition.
_MOST = 10**12


class _Part(NamedTuple):
    """A piece of a pattern: how many optional parts it has `before` and `after` everything required in it (if it
    `is_optional`, all of them are both), and the `pairs` of those in between."""

    before: int
    after: int
    is_optional: bool
    pairs: int = 0


_NOTHING, _REQUIRED = _Part(0, 0, is_optional=True), _Part(0, 0, is_optional=False)


@lru_cache(maxsize=128)  # as many as RE2 keeps compiled
def optional_parts(pattern: str) -> int:
    """About how many there are in a row, with repetitions written out. Several rows count as one with as many pairs."""
    groups, last = [_Group()], _NOTHING  # the open groups, and what a mark or a count would repeat
    for found in _TOKEN.finditer(pattern):
        if found["mark"] or found["least"]:
            last = _repeated(last, *_times(found))
            continue
        groups[-1].add(last)
        last = _NOTHING
        if found["open"]:
            groups.append(_Group())
        elif found["or"]:
            groups[-1].begin_another()
        elif not found["close"]:
            last = _REQUIRED
        elif len(groups) > 1:
            last = groups.pop().whole()
    while len(groups) > 1:
        last = groups.pop().add(last).whole()
    whole = groups[0].add(last).whole()
    return isqrt(whole.pairs + max(whole.before, whole.after) ** 2)


class _Group:
    """The alternatives of a group, the last of which is being read."""

    def __init__(self) -> None:
        self._others: _Part | None = None
        self._last = _NOTHING

    def add(self, part: _Part) -> "_Group":
        if part is not _NOTHING:
            self._last = _sequence(self._last, part)
        return self

    def begin_another(self) -> None:
        self._others, self._last = self.whole(), _NOTHING

    def whole(self) -> _Part:
        one, other = self._others, self._last
        if one is None:
            return other
        is_optional = one.is_optional or other.is_optional
        # Alternatives end in the same place, but each begins in its own.
        before = isqrt(one.before**2 + other.before**2)
        return _Part(before, one.after + other.after, is_optional, one.pairs + other.pairs)


def _sequence(one: _Part, other: _Part) -> _Part:
    before = one.before + (other.before if one.is_optional else 0)
    after = other.after + (one.after if other.is_optional else 0)
    is_between = not one.is_optional and not other.is_optional
    pairs = one.pairs + other.pairs + ((one.after + other.before) ** 2 if is_between else 0)
    return _Part(before, after, one.is_optional and other.is_optional, pairs)


def _repeated(part: _Part, least: int, more: int) -> _Part:
    """The part `least` times, then up to `more` times."""
    joined = 0 if part.is_optional else (part.after + part.before) ** 2
    often = least if part.is_optional else min(least, 1)
    pairs = part.pairs * least + joined * max(least - 1, 0)
    sure = _Part(part.before * often, part.after * often, part.is_optional or not least, pairs)
    maybe = _Part((part.before + 1) * more, (part.after + 1) * more, True, (part.pairs + joined) * more)
    both = _sequence(sure, maybe)
    return _Part(min(both.before, _MOST), min(both.after, _MOST), both.is_optional, min(both.pairs, _MOST))


def _times(found: re.Match[str]) -> tuple[int, int]:
    """How often a mark or a count repeats a part at least, and how often more: once, if that is unlimited."""
    if found["mark"]:
        return int(found["mark"] == "+"), int(found["mark"] != "+")
    least = int(found["least"])
    if not found["comma"]:
        return least, 0
    return least, max(0, int(found["most"]) - least) if found["most"] else 1
