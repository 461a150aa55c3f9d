"""What the parameters of all kinds have in common: their check against the kind's schema, and patterns."""

from typing import Protocol

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject


class Pattern(Protocol):
    """A compiled regular expression."""

    def search(self, text: str) -> object | None:
        """None where the pattern is nowhere in `text`. Takes time in proportion to the text, whatever the pattern."""


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
    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Pattern = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise PolicyParametersError(f"{field}: not a regular expression: {reason}", field) from None
    return compiled
