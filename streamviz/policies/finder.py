"""Find patterns in a running text, even if a match comes in many pieces."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from streamviz.core.policy import Tail
from streamviz.policies.beginnings import Unreadable, beginnings
from streamviz.policies.parameters import BytesPattern, compile_bytes_pattern, compile_pattern, encodable

# Characters searched at once; doubled while a match may be longer.
_SLICE = 1024


# A match takes some 50 µs, whether its check accepts it or not.
MOST_MATCHES = 10_000


class Budget:
    """How many more matches may be checked."""

    def __init__(self, most: int = MOST_MATCHES) -> None:
        self._most = self._left = most

    def spend(self) -> None:
        """Count one match. Raises ValueError if it is one too many."""
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it has more than {self._most} places to check")


class Shape(NamedTuple):
    """A pattern to look for; `check` says whether a match really is one (by its checksum, for example)."""

    label: str
    pattern: str
    check: Callable[[str], bool] | None = None


class Found(NamedTuple):
    """A match: where it is, and what it is."""

    start: int
    end: int
    label: str


class Finder:
    """Finds all of `shapes`; where matches overlap, the one that begins first.

    Keeps back at most `look_back` characters: the end of the text that may be the beginning of a match, or, if that
    cannot be derived from the patterns, always that many. Raises PolicyParametersError, naming `field`, for a pattern
    that RE2 does not accept.
    """

    def __init__(self, shapes: Sequence[Shape], look_back: int, field: str, *, ignore_case: bool = False) -> None:
        self._look_back = look_back
        flags = "(?i)" if ignore_case else ""
        self._shapes = [
            (shape, compile_pattern(flags + shape.pattern, f"{field}.{number}")) for number, shape in enumerate(shapes)
        ]
        any_of = "|".join(f"(?:{shape.pattern})" for shape in shapes)
        self._any = compile_pattern(flags + any_of, field)
        self._any_in_bytes = compile_bytes_pattern(flags + any_of, field)
        start = _start_pattern([shape.pattern for shape in shapes], flags)
        self._start = compile_pattern(start, field, is_derived=True) if start else None
        self._start_in_bytes = compile_bytes_pattern(start, field) if start else None

    def find(self, tail: Tail, budget: Budget | None = None) -> tuple[list[Found], int]:
        """The settled matches, and how far the text may be sent. Raises ValueError if there are too many matches:
        `budget` is for several texts together; without it, each text has its own."""
        if self._start_in_bytes is not None and len(tail.text) < _SLICE and self._is_clear(self._start_in_bytes, tail):
            return [], len(tail.text)
        if tail.is_whole and not tail.begin and self._any.search(encodable(tail.text)) is None:
            return [], len(tail.text)
        budget = budget or Budget()
        found: list[Found] = []
        at, end, size = tail.begin, len(tail.text), _SLICE
        while True:
            # One character more, so that a pattern can tell where a word begins.
            before, upto = max(0, at - 1), min(at + size, end)
            piece = encodable(tail.text[before:upto])
            matches, safe = self._read(piece, at - before, budget, is_whole=tail.is_whole and upto == end)
            found += [Found(match.start + before, match.end + before, match.label) for match in matches]
            size = size * 2 if safe + before == at else _SLICE
            at = safe + before
            if upto - at > self._look_back:
                found, at = self._give_up(tail.text, found, at, upto, budget)
            if upto == end:
                return found, at

    def first(self, text: str, budget: Budget) -> str:
        """The label of the first match in a whole text; empty if there is none. Raises ValueError if too much merely
        looks like one."""
        text, at = encodable(text), 0
        while (match := self._any.search(text, at)) is not None:
            budget.spend()
            if (settled := self._settle(text, match.start())) is not None:
                return settled.label
            at = match.start() + 1
        return ""

    def _is_clear(self, start: BytesPattern, tail: Tail) -> bool:
        """Whether the text has no match and no end that may become one, as is true of nearly all text."""
        text = tail.text.encode("utf-8", "replace")
        return start.search(text) is None and self._any_in_bytes.search(text) is None

    def _give_up(self, text: str, found: list[Found], at: int, upto: int, budget: Budget) -> tuple[list[Found], int]:
        """No more may be kept back: what is already a match is taken as it is, however it would continue."""
        before = max(0, at - 1)
        matches, _ = self._read(encodable(text[before:upto]), at - before, budget, is_whole=True)
        least = upto - self._look_back
        taken = [Found(each.start + before, each.end + before, each.label) for each in matches]
        taken = [each for each in taken if each.start < least]
        at = max([least, *(each.end for each in taken)])
        before = at - 1
        return found + taken, before + self._safe(encodable(text[before:upto]), 1)

    def _read(self, text: str, at: int, budget: Budget, *, is_whole: bool) -> tuple[list[Found], int]:
        found: list[Found] = []
        safe = len(text) if is_whole else self._safe(text, at)
        while (match := self._any.search(text, at)) is not None and match.start() < safe:
            budget.spend()
            settled = self._settle(text, match.start())
            if settled is None:
                at = match.start() + 1
                continue
            found.append(settled)
            at = settled.end
            if at > safe:
                safe = self._safe(text, at)
        return found, safe

    def _settle(self, text: str, start: int) -> Found | None:
        """The match that begins here: of the first shape whose check accepts it."""
        for shape, pattern in self._shapes:
            match = pattern.match(text, start)
            if match is None or match.end() == start:
                continue
            if shape.check is None or shape.check(text[start : match.end()]):
                return Found(start, match.end(), shape.label)
        return None

    def _safe(self, text: str, at: int) -> int:
        if self._start is None:
            return max(at, len(text) - self._look_back)
        match = self._start.search(text, at)
        return len(text) if match is None else match.start()


def together(*readings: tuple[list[Found], int]) -> tuple[list[Found], int]:
    """Merge several readings of one text, joining matches that overlap; also how far the text may be sent."""
    safe = min(upto for _, upto in readings)
    found: list[Found] = []
    for each in sorted(match for matches, _ in readings for match in matches):
        if found and each.start < found[-1].end:
            last = found.pop()
            each = Found(last.start, max(last.end, each.end), last.label)
        if each.end > safe:
            return found, min(safe, each.start)
        found.append(each)
    return found, safe


def _start_pattern(patterns: Sequence[str], flags: str) -> str:
    """The pattern of an end that may become a match; empty if that cannot be derived."""
    try:
        return f"{flags}(?:{'|'.join(map(beginnings, patterns))})\\z"
    except Unreadable:
        return ""
