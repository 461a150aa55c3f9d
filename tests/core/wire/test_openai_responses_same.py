"""Arguments that are sent twice: whether they are the same."""

import json

import pytest

from streamviz.core.wire.openai_responses_arguments import is_same

MANY: list[object] = [{}] * 200_000


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a":1}', '{"a": 1}', True),
        ('{"a":1}', '{"a":2}', False),
        ("{", "{ ", False),
        (json.dumps(MANY), json.dumps(MANY), True),
        (json.dumps(MANY), json.dumps(MANY, separators=(",", ":")), False),
    ],
    ids=["spaced", "another", "no json", "many", "many and spaced"],
)
def test_arguments_are_the_same_however_they_are_spaced(one: str, other: str, same: bool) -> None:
    assert is_same(one, other) is same
