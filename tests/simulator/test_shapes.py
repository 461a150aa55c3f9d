"""The JSON that requests ask for, and what `reasoner` answers them."""

import json
import math
from typing import Any

import pytest

from streamviz.executors.reasoning.plan import PLAN_SCHEMA
from streamviz.simulator.asked import Asked
from streamviz.simulator.scenarios import write_script
from streamviz.simulator.shapes import example_of, shape_of
from streamviz.simulator.steps import fold

CITY: Any = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def of_schema(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}}


def answer(request: dict[str, Any]) -> str:
    script = write_script(Asked("reasoner"), 1, 10, math.inf, shape=shape_of(request))
    return "".join(part.text for part in fold(script.steps))


def test_a_plan_is_answered_where_one_is_asked_for() -> None:
    told = [{"role": "system", "content": f"Keep to this: {json.dumps(PLAN_SCHEMA)}"}]
    for request in (of_schema(PLAN_SCHEMA), {"response_format": {"type": "json_object"}, "messages": told}):
        assert json.loads(answer(request))["next_action"] == "use_tools"


def test_other_json_is_what_was_asked_for() -> None:
    assert json.loads(answer(of_schema(CITY))).keys() == {"city"}
    planned = [{"role": "assistant", "content": '{"next_action": "finished"}'}]
    assert json.loads(answer({"response_format": {"type": "json_object"}, "messages": planned})) == {}
    assert not answer({}).startswith("{")
    assert not answer({"response_format": {"type": "text"}}).startswith("{")


@pytest.mark.parametrize(
    ("schema", "want"),
    [
        ({"enum": ["a", "b"]}, "a"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
        ({"type": ["boolean", "null"]}, True),
        ({"type": "array", "items": {"type": "number"}}, [1]),
        ({"$defs": {"City": CITY}, "properties": {"at": {"$ref": "#/$defs/City"}}}, {"at": {"city": "x"}}),
        ({"$ref": "#/$defs/missing"}, "x"),
        (True, "x"),
    ],
)
def test_an_example_keeps_to_its_schema(schema: Any, want: object) -> None:
    assert example_of(schema, "x") == want


def test_a_schema_within_itself_has_an_end() -> None:
    assert example_of({"properties": {"next": {"$ref": "#"}}}, "x")
    assert example_of({"$ref": "#"}, "x") is None
