"""Each kind describes itself to operators, and accepts only what its schema allows."""

import pytest
from jsonschema import Draft202012Validator

from streamviz.core.errors import PolicyParametersError
from streamviz.policies import build
from streamviz.policies.registry import REGISTRY, kinds


@pytest.mark.parametrize("kind", REGISTRY)
def test_each_kind_says_what_it_does_and_what_it_takes(kind: str) -> None:
    found = REGISTRY[kind]
    assert len(found.about) > 100
    Draft202012Validator.check_schema(found.schema)
    properties = found.schema["properties"]
    assert isinstance(properties, dict)
    assert [name for name, schema in properties.items() if not schema.get("description")] == []
    with pytest.raises(PolicyParametersError):
        build(kind, {"no such parameter": 1})


def test_there_are_all_kinds() -> None:
    assert {kind for kind, _ in kinds()} == {
        "tool_rule", "cel_rule", "text_rule", "redact", "tool_schema", "llm_judge", "limits", "request_rule",
        "shell_rule", "python",
    }  # fmt: skip
    with pytest.raises(PolicyParametersError):
        build("wishful", {})
