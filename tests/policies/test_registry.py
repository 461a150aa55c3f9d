"""Each kind describes itself to operators, and accepts only what its schema allows."""

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from streamviz.core.errors import PolicyParametersError
from streamviz.core.json_value import JsonObject
from streamviz.policies import build
from streamviz.policies.registry import REGISTRY, kinds

GUIDE = Path(__file__).parents[2] / "docs" / "policies.md"


@pytest.mark.parametrize("kind", REGISTRY)
def test_each_kind_of_policy_says_what_it_does_and_what_it_takes(kind: str) -> None:
    found = REGISTRY[kind]
    assert len(found.about) > 100
    Draft202012Validator.check_schema(found.schema)
    properties = found.schema["properties"]
    assert isinstance(properties, dict)
    assert [name for name, schema in properties.items() if not schema.get("description")] == []
    with pytest.raises(PolicyParametersError):
        build(kind, {"no such parameter": 1})


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("text_rule", {"patterns": ["a"], "in": []}),
        ("redact", {"in": []}),
        ("cel_rule", {"expression": "true", "on": []}),
        ("llm_judge", {"model": "m", "instructions": "i", "on": []}),
        ("shell_rule", {"deny": []}),
    ],
)
def test_none_may_judge_nothing(kind: str, parameters: JsonObject) -> None:
    with pytest.raises(PolicyParametersError, match=r"^(?:in|on|deny): "):
        build(kind, parameters)


def test_there_are_the_kinds_that_the_guide_lists() -> None:
    _, _, told = GUIDE.read_text().partition("\n## The kinds\n")
    listed = re.findall(r"^\| `(\w+)` \|", told.partition("\n## ")[0], re.MULTILINE)
    assert len(listed) >= 10
    assert sorted(listed) == sorted(kind for kind, _ in kinds())


def test_what_is_no_kind_cannot_be_made() -> None:
    with pytest.raises(PolicyParametersError):
        build("wishful", {})
