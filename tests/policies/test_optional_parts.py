"""Patterns that RE2 would take long to compile are refused before it does."""

import pytest

from streamviz.core.errors import PolicyParametersError
from streamviz.policies import build
from streamviz.policies.optional_parts import optional_parts


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("a?b*c+", 2),
        ("a??b*?c{0,5}?d+?", 7),
        ("a{0,1000}b{2,5}c{3}d{2,}", 1000),
        ("a{0,30}bc{0,40}", 40),
        ("a{0,30}b|c{0,40}d|ef{0,10}|gh{0,20}", 50),
        ("a{0,30}|bc{0,40}", 70),
        ("xa{0,30}(?:b{0,20}|yc?)", 51),
        ("xa{0,30}(?:b{0,20}|yc?)z(?:d{0,40})", 64),
        ("(?:a?b?){10}", 20),
        ("(?:a{0,3}b){25}", 15),
        ("(?:a?bc?)+de?", 1),
        ("((?i)a?b){2}c", 1),
        ("(?P<x>a)?", 1),
        (r"\?+[?*]{2}\Q???\E\*", 0),
        ("(?:(?:a?){30}){30}|b?", 901),
        ("a?\n?", 2),
    ],
)
def test_all_optional_parts_are_counted(pattern: str, number: int) -> None:
    assert optional_parts(pattern) == number


@pytest.mark.parametrize("mark", ["(", ")", "[", "[:", "[:a", "{", "{0", "\\", "a?", "(?", "\\Q", "|", "(|", "a|b"])
def test_optional_parts_are_counted_in_one_pass(mark: str) -> None:
    """Scanning the rest for each mark would take hours."""
    assert optional_parts(mark * 100_000) in (0, 100_000)


@pytest.mark.parametrize("pattern", ["a?" * 100_000, "a{0,1000}" * 100, "(?:a?b?c?){900}" * 100])
def test_too_many_optional_parts_are_refused(pattern: str) -> None:
    for kind, parameters, field in (
        ("text_rule", {"patterns": [pattern]}, "patterns"),
        ("tool_rule", {"arguments": [{"pattern": pattern}]}, "arguments.0.pattern"),
    ):
        with pytest.raises(PolicyParametersError, match="optional parts") as raised:
            build(kind, parameters)
        assert raised.value.field.startswith(field)


def test_patterns_with_too_many_optional_parts_together_are_refused() -> None:
    with pytest.raises(PolicyParametersError, match="optional parts"):
        build("text_rule", {"patterns": ["ba{0,1000}"] * 7})


def test_long_words_are_not_too_many() -> None:
    assert build("text_rule", {"patterns": [f"{letter}" * 3_900 for letter in "abc"]})


def test_many_short_rows_of_optional_parts_are_not_too_many() -> None:
    """As the rules of a scanner for secrets have them: RE2 compiles all of them in a fraction of a second."""
    key = r"[\w.-]{0,50}?(?:name%d)[ \t\w.-]{0,20}[\s'\"]{0,3}(?:=|:{1,3}=)['\"\s=]{0,5}([a-z0-9]{8})(?:['\"\s;]|$)"
    assert build("text_rule", {"patterns": [key % number for number in range(120)], "ignore_case": True})
