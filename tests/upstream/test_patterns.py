"""To find patterns that OpenAI's models would refuse, LiteLLM compiles those in schemas: only a limited number."""

from typing import Any

from streamviz.upstream.lite import common_utils
from streamviz.upstream.sending import Sending

NOT_PYTHONS = {"type": "string", "pattern": r"^\p{L}$"}


def kept_of(*patterns: str) -> list[Any]:
    """What is left of these patterns, and of one that Python does not support, in a schema that goes to a model."""
    Sending()
    properties = {f"p{number}": {"pattern": each} for number, each in enumerate(patterns)}
    kept: Any = common_utils.drop_non_python_regex_patterns({"properties": {**properties, "last": NOT_PYTHONS}})
    return [each.get("pattern") for each in kept["properties"].values()]


def test_a_pattern_that_would_be_refused_is_left_out() -> None:
    assert kept_of("^[a-z]+$") == ["^[a-z]+$", None]


def test_behind_very_long_ones_they_go_on_unread() -> None:
    assert kept_of("(a|b)" * 5_000)[1:] == [NOT_PYTHONS["pattern"]]
    assert kept_of(*(f"(a|{number})" * 10 for number in range(1_000)))[1_000:] == [NOT_PYTHONS["pattern"]]


def test_a_pattern_that_tools_repeat_counts_once() -> None:
    assert kept_of(*["(a|b)" * 100] * 50)[50:] == [None]


def test_each_call_is_looked_at_anew() -> None:
    kept_of("(a|b)" * 5_000)
    assert kept_of() == [None]
