"""What the parameters of all kinds have in common: their check against the kind's schema, and patterns."""

from typing import Any, Protocol

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject


class Match(Protocol):
    """Where a pattern was found."""

    def start(self) -> int: ...

    def end(self) -> int: ...


# What is judged where clients wait takes no more than some ms, whatever is in it. A step is one character for one
# instruction of a pattern, and takes a ns at worst.
MOST_CHARACTERS = 8_000
MOST_STEPS = 4_000_000


class Pattern(Protocol):
    """A compiled regular expression; `programsize` is how many instructions it has."""

    programsize: int

    def search(self, text: str, pos: int = 0) -> Match | None:
        """None where the pattern is nowhere in `text`. Takes time in proportion to the text, whatever the pattern."""

    def match(self, text: str, pos: int = 0) -> Match | None:
        """None where the pattern is not at `pos`."""


class BytesPattern(Protocol):
    """A compiled regular expression for UTF-8; places are in bytes."""

    def search(self, text: bytes, pos: int = 0) -> Match | None:
        """As with Pattern."""


def encodable(text: str) -> str:
    """RE2 reads UTF-8, which has no place for half of a surrogate pair. No character moves."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def check(parameters: JsonObject, schema: JsonObject) -> None:
    """Raises PolicyParametersError, naming the field (`arguments.0.pattern`), where `schema` does not allow it."""
    error = best_match(Draft202012Validator(schema).iter_errors(parameters))
    if error is not None:
        field = ".".join(map(str, error.absolute_path))
        raise PolicyParametersError(f"{field or 'parameters'}: {error.message}", field)


def compile_pattern(pattern: str, field: str) -> Pattern:
    """RE2 rather than Python's `re`: what a model writes must not be able to stop the worker with a slow match.

    RE2 has no look-around and no back-references. Raises PolicyParametersError for a pattern that it does not take.
    """
    compiled: Pattern = _compiled(pattern, field)
    return compiled


def compile_bytes_pattern(pattern: str, field: str) -> BytesPattern:
    """The same, for UTF-8: that costs a third, as places need not be counted in characters."""
    compiled: BytesPattern = _compiled(pattern.encode("utf-8", "replace"), field)
    return compiled


def _compiled(pattern: str | bytes, field: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    # Only where a match is matters, and finding out what each group took is many times slower.
    options.never_capture = True
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise PolicyParametersError(f"{field}: not a regular expression: {reason}", field) from None


TEXT_KINDS = ("content", "thinking", "refusal")


def texts(value: object, default: tuple[str, ...] = ()) -> list[str]:
    """A list's texts; `default` where there is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else list(default)


def integer(value: object, default: int) -> int:
    """A whole number, or `default`."""
    return value if isinstance(value, int) else default


def number(value: object) -> float | None:
    """A number, where one was given."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def shortened(text: str, most: int) -> str:
    """At most so many characters of a text that a stranger wrote."""
    return text if len(text) <= most else text[:most] + "…"
