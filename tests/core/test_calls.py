"""What may be a call, whatever its format calls it; and arguments that arrive as a JSON object."""

import pytest

from streamviz.core.calls import as_arguments, may_be_call, said_beside
from streamviz.core.json_value import object_in


@pytest.mark.parametrize(
    "members",
    [
        {"type": "shell", "command": "ls"},
        {"type": "bash_call"},
        {"type": "new_tool_use"},
        {"type": "new_request"},
        {"type": "new", "name": "bash"},
        {"type": "new", "call_id": "c"},
        {"type": "new", "arguments": "{}"},
        {"action": {"type": "exec"}},
        {"type": None, "parameters": {"cmd": "ls"}},
    ],
)
def test_what_names_a_tool_or_has_what_one_is_given_may_be_a_call(members: dict[str, object]) -> None:
    assert may_be_call(members)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"type": "note", "text": "hello"},
        {"type": "note", "command": "", "name": None},
        {"type": "new_tool_result", "name": "bash", "input": {"cmd": "ls"}},
        {"type": "new_call_output", "call_id": "c"},
    ],
)
def test_neither_a_note_nor_a_result_may_be_a_call(members: dict[str, object]) -> None:
    assert not may_be_call(members)


def test_a_call_may_say_beside_its_carrier_what_its_tool_is_given() -> None:
    assert said_beside({"input": {}, "arguments": "{}"}, "input")
    assert not said_beside({"input": {"a": 1}, "arguments": "", "caller": {"type": "direct"}}, "input")


@pytest.mark.parametrize(
    ("value", "want"),
    [('{"a":1}', '{"a":1}'), ({"a": [1, "ü"]}, '{"a": [1, "ü"]}'), ({}, "{}"), (None, ""), ("", "")],
)
def test_arguments_are_text(value: object, want: str) -> None:
    assert as_arguments(value) == want


@pytest.mark.parametrize("text", ["", '{"a":', "[1]", "null", "x"])
def test_what_says_no_object_is_an_empty_input(text: str) -> None:
    assert object_in(text) == {}


def test_an_input_is_what_the_text_says() -> None:
    assert object_in('{"a": 1}') == {"a": 1}
