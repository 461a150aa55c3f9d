"""What the parameters of all kinds share: validation against the kind's schema, and patterns."""

from typing import Any, Protocol

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject, is_number
from streamviz.policies.optional_parts import optional_parts


class Match(Protocol):
    """Where a pattern was found."""

    def start(self) -> int: ...

    def end(self) -> int: ...


# Judging where clients wait takes a few ms at most, whatever the input. A step is one character for one instruction of
# a pattern, and takes 1 ns at worst.
MOST_CHARACTERS = 8_000
MOST_STEPS = 4_000_000
# Compiling a pattern with this many optional parts in a row takes about 200 ms, during which nothing else runs.
MOST_OPTIONAL = 6_000


class Pattern(Protocol):
    """A compiled regular expression; `programsize` is its number of instructions."""

    programsize: int

    def search(self, text: str, pos: int = 0) -> Match | None:
        """None if the pattern is nowhere in `text`. Takes time in proportion to the text, whatever the pattern."""

    def match(self, text: str, pos: int = 0) -> Match | None:
        """None if the pattern does not match at `pos`."""


class BytesPattern(Protocol):
    """A compiled regular expression for UTF-8; positions are in bytes."""

    def search(self, text: bytes, pos: int = 0) -> Match | None:
        """Like Pattern.search."""


def encodable(text: str) -> str:
    """A text with halves of surrogate pairs replaced: RE2 reads UTF-8, which cannot encode them. No character moves."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def check(parameters: JsonObject, schema: JsonObject) -> None:
    """Raises PolicyParametersError, naming the field (`arguments.0.pattern`), if `schema` rejects the parameters."""
    error = best_match(Draft202012Validator(schema).iter_errors(parameters))
    if error is not None:
        field = ".".join(map(str, error.absolute_path))
        raise PolicyParametersError(f"{field or 'parameters'}: {error.message}", field)


def compile_pattern(pattern: str, field: str, *, is_derived: bool = False) -> Pattern:
    """Compile with RE2 rather than Python's `re`: what a model writes must not stop the worker with a slow match.

    RE2 has no look-around and no back-references. Raises PolicyParametersError for a pattern that it does not accept,
    or that has more than MOST_OPTIONAL optional parts in a row, unless it `is_derived` from one that was checked.
    """
    if not is_derived and optional_parts(pattern) > MOST_OPTIONAL:
        message = f"{field}: more than {MOST_OPTIONAL} optional parts in a row (`?`, `*`; `a{{0,9}}` has nine)"
        raise PolicyParametersError(message, field)
    compiled: Pattern = _compiled(pattern, field)
    return compiled


def compile_bytes_pattern(pattern: str, field: str) -> BytesPattern:
    """The same for UTF-8, at a third of the cost, because positions need not be counted in characters."""
    compiled: BytesPattern = _compiled(pattern.encode("utf-8", "replace"), field)
    return compiled


def _compiled(pattern: str | bytes, field: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    # Only the position of a match is needed, and capturing groups is many times slower.
    options.never_capture = True
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise PolicyParametersError(f"{field}: not a regular expression: {reason}", field) from None


TEXT_KINDS = ("content", "thinking", "refusal")


def texts(value: object, default: tuple[str, ...] = ()) -> list[str]:
    """A list's texts; `default` if there is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else list(default)


def integer(value: object, default: int) -> int:
    """A whole number, or `default`."""
    return value if isinstance(value, int) else default


def number(value: object) -> float | None:
    """A number, if one was given."""
    return float(value) if is_number(value) else None


def shortened(text: str, most: int) -> str:
    """The beginning of an untrusted text, at most `most` characters."""
    return text if len(text) <= most else text[:most] + "…"
