"""What `${X…}` makes of a variable's text: a part of it, or the text in another case or with something replaced."""

import re
from collections.abc import Callable, Iterator, Mapping

from streamviz.core.errors import PolicyParametersError
from streamviz.policies.parameters import Match, Pattern, compile_pattern, encodable
from streamviz.policies.shell.commands import UNKNOWN, Word
from streamviz.policies.shell.words import ansi

_SLICE = re.compile(r":\s*+\(?\s*+(-?\d{1,6})\s*+\)?(?::\s*+(-?\d{1,6}))?\s*+\Z")
_CASES: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys((",,", ",", "@L"), str.lower),
    **dict.fromkeys(("^^", "@U"), str.upper),
    **dict.fromkeys(("^", "@u"), lambda text: text[:1].upper() + text[1:]),
    **dict.fromkeys(("@E", "@P"), ansi),
}
_TRIMMED = re.compile(r"(##?|%%?)(.*)\Z", re.DOTALL)
_REPLACED = re.compile(r"/([/#%]?)((?:[^/\\]|\\.)+)(?:/(.*))?\Z", re.DOTALL)
# An escaped character, a class, a wildcard, a quote, or any other character.
_STEP = re.compile(r"\\(.)|\[([!^]?)(\]?(?:\[:\w+:\]|[^\]])*)\]|([*?])|[\"']|(.)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ESCAPED = re.compile(r"\\(.)|[\"']", re.DOTALL)
# The most characters that a replacement may insert.
_MOST_MADE = 100_000


def changed(text: str, operation: str, variables: Mapping[str, Word]) -> str | None:
    """A variable's text after an operation, given as in the source; None if that is unknown. Raises ValueError if it
    would be too long."""
    if found := _SLICE.match(operation):
        return _slice(text, int(found[1]), found[2])
    if operation in _CASES:
        return _CASES[operation](text)
    operation = _VARIABLE.sub(lambda found: _said(found[1] or found[2], variables), operation)
    if any(mark in text + operation for mark in (UNKNOWN, "$", "`")):
        return None
    try:
        return _matched(text, operation)
    except PolicyParametersError:  # an invalid class
        return None


def _said(name: str, variables: Mapping[str, Word]) -> str:
    return variables[name].text if name in variables else UNKNOWN


def _slice(text: str, start: int, length: str | None) -> str:
    start = start if start >= 0 else len(text) + start
    if start < 0:
        return ""
    end = len(text) if length is None else int(length) + (start if int(length) >= 0 else len(text))
    return text[start:end]


def _matched(text: str, operation: str) -> str | None:
    text = encodable(text)
    if trimmed := _TRIMMED.match(operation):
        side, glob = trimmed.groups()
        return _trimmed(text, glob, is_end=side[0] == "%", is_longest=len(side) > 1)
    if (replaced := _REPLACED.match(operation)) is None:
        return None
    how, glob, by = replaced.groups()
    by = _ESCAPED.sub(r"\1", by or "")
    if how in ("#", "%"):
        rest = _trimmed(text, glob, is_end=how == "%", is_longest=True)
        return text if rest == text else rest + by if how == "%" else by + rest
    return "".join(_pieces(text, _compiled(_steps(glob, ".*")), by, is_once=not how))


def _trimmed(text: str, glob: str, *, is_end: bool, is_longest: bool) -> str:
    """A text without what matches at its beginning, or at its end; for that, text and glob are read backwards."""
    steps = _steps(glob, ".*" if is_longest else ".*?")
    if is_end:
        found = _compiled(steps[::-1]).match(text[::-1])
        return text[: len(text) - found.end()] if found else text
    found = _compiled(steps).match(text)
    return text[found.end() :] if found else text


def _pieces(text: str, pattern: Pattern, by: str, *, is_once: bool) -> Iterator[str]:
    at = made = 0
    while (found := _longer(pattern.search(text, at))) is not None:
        yield text[at : found.start()]
        yield by
        at, made = found.end(), made + len(by)
        if made > _MOST_MADE:
            raise ValueError("commands that expand to too much text")
        if is_once:
            break
    yield text[at:]


def _longer(found: Match | None) -> Match | None:
    """The match, unless it is empty."""
    return found if found is not None and found.end() > found.start() else None


def _compiled(steps: list[str]) -> Pattern:
    return compile_pattern("(?s)" + "".join(steps), "pattern")


def _steps(glob: str, anything: str) -> list[str]:
    """A glob as pieces of a regular expression, which can also be put together backwards."""
    return [step for found in _STEP.finditer(encodable(glob)) if (step := _step(found, anything))]


def _step(found: re.Match[str], anything: str) -> str:
    escaped, sign, inside, mark, letter = found.groups()
    if inside is not None:
        own = inside.replace("\\", "\\\\")
        return f"[{'^' if sign else ''}{own}]"
    if mark:
        return anything if mark == "*" else "."
    return re.escape(escaped or letter or "")
