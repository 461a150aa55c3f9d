"""Derive from a pattern which end of a text may be the beginning of a match.

A rule for running text has to keep back whatever may still become a match. From a pattern p this makes a pattern that
matches all non-empty beginnings of p's matches: `abc` gives `a(?:b(?:c)?)?`. Searched for at the end of a text, it
finds exactly what has to wait, which in most texts is nothing. It may match too much (assertions are assumed to hold),
never too little.
"""

import re
from typing import NamedTuple

_FLAGS = re.compile(r"\?[imsU]*(?:-[imsU]+)?(:|\))")
_NAME = re.compile(r"\?P?<\w+>")
_ESCAPE = re.compile(r"\\(?:p\{\^?\w+\}|P\{\^?\w+\}|x\{[0-9a-fA-F]+\}|x[0-9a-fA-F]{2}|[0-7]{1,3}|[^QECx])", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
_COUNT = re.compile(r"\{(\d+)(,?)(\d*)\}")
# Matches nothing: the beginnings of a part that consumes no text.
_NOTHING = r"[^\x00-\x{10FFFF}]"
_COUNTED: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
# RE2 accepts patterns nested up to 1,000 deep.
_DEEPEST = 500
# The time taken grows with the square of a pattern's length.
_LONGEST = 4_000
_ZERO_WIDTH = frozenset(["^", "$", "\\b", "\\B", "\\A", "\\z"])


class Unreadable(ValueError):
    """A pattern with syntax that this module does not know."""


class _Part(NamedTuple):
    """A piece of a pattern, and the pattern of all its non-empty beginnings, itself included."""

    raw: str
    start: str


def beginnings(pattern: str) -> str:
    """An RE2 pattern of all non-empty beginnings of the matches of `pattern`. Raises Unreadable."""
    if len(pattern) > _LONGEST:
        raise Unreadable("a pattern that is too long")
    reader = _Reader(pattern)
    part = reader.alternatives()
    if reader.at < len(pattern):
        raise Unreadable(f"an unexpected {pattern[reader.at]!r}")
    return part.start


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def alternatives(self) -> _Part:
        """Read to the end, or to the parenthesis that closes a group."""
        parts = [self._sequence()]
        while self._next() == "|":
            self.at += 1
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        return _Part(_group("|".join(part.raw for part in parts)), _group("|".join(part.start for part in parts)))

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        start = ""
        for part in reversed(parts):
            start = _start_of_both(part, start) if start else part.start
        return _Part("".join(part.raw for part in parts), start or _NOTHING)

    def _atom(self) -> _Part:
        if self._next() == "(":
            return self._grouped()
        found = _ESCAPE.match(self._pattern, self.at) or _CLASS.match(self._pattern, self.at)
        raw = found[0] if found else self._next()
        if raw in ("\\", "[", "*", "+", "?"):
            raise Unreadable(f"what {self._pattern[self.at : self.at + 4]!r} means is not known")
        self.at += len(raw)
        return _Part(raw, _NOTHING if raw in _ZERO_WIDTH else raw)

    def _grouped(self) -> _Part:
        self.at += 1
        opening = "?:"
        if flags := _FLAGS.match(self._pattern, self.at):
            self.at = flags.end()
            opening = flags[0]
            if opening.endswith(")"):
                return _Part(f"({opening}", f"({opening}{_NOTHING}")
        elif name := _NAME.match(self._pattern, self.at):
            self.at = name.end()
        elif self._next() == "?":
            raise Unreadable("a kind of group that is not known")
        inner = self.alternatives()
        if self._next() != ")":
            raise Unreadable("a group without its end")
        self.at += 1
        return _Part(f"({opening}{inner.raw})", f"({opening}{inner.start})")

    def _repeated(self, part: _Part) -> _Part:
        count = _COUNT.match(self._pattern, self.at)
        mark = self._next()
        if count is None and (mark == "" or mark not in "*+?"):
            return part
        quantifier = count[0] if count else mark
        self.at += len(quantifier)
        if self._next() == "?":
            self.at += 1
        least, most = _counted(count) if count else _COUNTED[mark]
        raw = _repeated(part.raw, least, most)
        if most == 0:
            return _Part(raw, _NOTHING)
        return self._repeated(_Part(raw, _repeated(part.raw, 0, None if most is None else most - 1) + part.start))

    def _next(self) -> str:
        return self._pattern[self.at : self.at + 1]


def _start_of_both(part: _Part, rest: str) -> str:
    """The beginnings of `part` and what follows it: a beginning of the part, or all of it and then `rest`, a beginning
    of what follows."""
    if part.start == part.raw:
        return f"{part.raw}{_group(rest)}?"
    return _group(f"{part.start}|{part.raw}{rest}")


def _counted(count: re.Match[str]) -> tuple[int, int | None]:
    """The least and most repetitions; None if there is no upper limit."""
    least, comma, most = count.groups()
    if not comma:
        return int(least), int(least)
    return int(least), int(most) if most else None


def _repeated(pattern: str, least: int, most: int | None) -> str:
    """A pattern repeated: `(?:(?:a)?a)?a{2}` for `a{2,4}`. The search runs backwards from the end of the text, and in
    this form it has one state to continue from; in the equivalent `a{2,4}` it has one for each possible count."""
    one = _group(pattern)
    if most is None:
        return f"{one}{{{least},}}"
    if most - least > _DEEPEST:
        return f"{one}{{{least},{most}}}"
    more = ""
    for _ in range(most - least):
        more = f"(?:{more}{one})?"
    return f"{more}{one}{{{least}}}" if least else more


def _group(pattern: str) -> str:
    return f"(?:{pattern})"
