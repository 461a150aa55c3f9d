"""Patterns that RE2 would take long to compile are refused before it does."""

import pytest

from streamviz.core.errors import PolicyParametersError
from streamviz.policies import build
from streamviz.policies.optional_parts import optional_parts


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("a?b*c+", 2),
        ("a{0,1000}b{2,5}c{3}d{2,}", 1004),
        ("(?:a?b?){10}", 20),
        ("((?i)a?b){2,4}c", 6),
        ("(?P<x>a)?", 1),
        (r"\?+[?*]{2}\Q???\E\*", 0),
        ("(?:(?:a?){30}){30}|b?", 901),
        ("a?\n?", 2),
    ],
)
def test_all_are_counted(pattern: str, number: int) -> None:
    assert optional_parts(pattern) == number


@pytest.mark.parametrize("mark", ["(", ")", "[", "[:", "[:a", "{", "{0", "\\", "a?", "(?", "\\Q"])
def test_they_are_counted_in_one_pass(mark: str) -> None:
    """Scanning the rest for each mark would take hours."""
    assert optional_parts(mark * 300_000) in (0, 300_000)


@pytest.mark.parametrize("pattern", ["a?" * 100_000, "a{0,1000}" * 100, "(?:a?b?c?){900}" * 100])
def test_too_many_are_refused(pattern: str) -> None:
    for kind, parameters, field in (
        ("text_rule", {"patterns": [pattern]}, "patterns"),
        ("tool_rule", {"arguments": [{"pattern": pattern}]}, "arguments.0.pattern"),
    ):
        with pytest.raises(PolicyParametersError, match="optional parts") as raised:
            build(kind, parameters)
        assert raised.value.field.startswith(field)


def test_so_are_many_patterns_that_have_them_together() -> None:
    with pytest.raises(PolicyParametersError, match="optional parts"):
        build("text_rule", {"patterns": ["a{0,1000}b"] * 7})


def test_long_words_are_not_too_many() -> None:
    assert build("text_rule", {"patterns": [f"{letter}" * 3_900 for letter in "abc"]})
