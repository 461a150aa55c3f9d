"""Tool arguments that came as a JSON object."""

import pytest

from streamviz.core.calls import as_arguments, as_input


@pytest.mark.parametrize(
    ("value", "want"),
    [('{"a":1}', '{"a":1}'), ({"a": [1, "ü"]}, '{"a": [1, "ü"]}'), ({}, "{}"), (None, ""), ("", "")],
)
def test_arguments_are_text(value: object, want: str) -> None:
    assert as_arguments(value) == want


@pytest.mark.parametrize("text", ["", '{"a":', "[1]", "null", "x"])
def test_what_says_no_object_is_an_empty_input(text: str) -> None:
    assert as_input(text) == {}


def test_an_input_is_what_the_text_says() -> None:
    assert as_input('{"a": 1}') == {"a": 1}
