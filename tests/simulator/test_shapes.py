"""JSON schemas in requests, and what `reasoner` answers to them."""

import json
import math
from typing import Any

import pytest

from streamviz.executors.reasoning.plan import PLAN_SCHEMA
from streamviz.simulator.asked import Asked
from streamviz.simulator.scenarios import write_script
from streamviz.simulator.shapes import example_of, shape_of
from streamviz.simulator.steps import Finish, ToolPiece, ToolStart, fold

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


FORMAT = {"type": "json_schema", "name": "it", "schema": PLAN_SCHEMA}
ASKED: list[dict[str, Any]] = [
    {"text": {"format": FORMAT}},
    {"text": {"format": {"type": "json_object"}}, "instructions": "Say the `next_action`."},
    {"output_config": {"format": FORMAT}},
    {"output_format": FORMAT},
    {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": PLAN_SCHEMA}},
    {"generationConfig": {"responseMimeType": "application/json", "responseSchema": PLAN_SCHEMA}},
    {
        "generationConfig": {"responseMimeType": "application/json"},
        "systemInstruction": {"parts": [{"text": "Say the `next_action`."}]},
    },
]


@pytest.mark.parametrize("request_", ASKED)
def test_a_plan_is_answered_in_whichever_format_it_is_asked_for(request_: dict[str, Any]) -> None:
    assert json.loads(answer(request_))["next_action"] == "use_tools"


OTHER: dict[str, Any] = {"name": "other"}
CHOSEN: list[dict[str, Any]] = [
    {
        "tool_choice": {"type": "function", "function": {"name": "plan"}},
        "tools": [
            {"type": "function", "function": each} for each in (OTHER, {"name": "plan", "parameters": PLAN_SCHEMA})
        ],
    },
    {"tool_choice": {"type": "tool", "name": "plan"}, "tools": [OTHER, {"name": "plan", "input_schema": PLAN_SCHEMA}]},
    {
        "tool_choice": {"type": "function", "name": "plan"},
        "tools": [OTHER, {"type": "function", "name": "plan", "parameters": PLAN_SCHEMA}],
    },
    {
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["plan"]}},
        "tools": [{"functionDeclarations": [OTHER, {"name": "plan", "parameters": PLAN_SCHEMA}]}],
    },
]


@pytest.mark.parametrize("request_", CHOSEN)
def test_a_plan_is_the_arguments_of_the_tool_that_is_to_be_called(request_: dict[str, Any]) -> None:
    steps = write_script(Asked("reasoner"), 1, 10, math.inf, shape=shape_of(request_)).steps
    assert [step.name for step in steps if isinstance(step, ToolStart)] == ["plan"]
    plan = json.loads("".join(step.arguments for step in steps if isinstance(step, ToolPiece)))
    assert plan["next_action"] == "use_tools"
    assert [step.reason for step in steps if isinstance(step, Finish)] == ["tool_calls"]


def test_a_tool_that_is_not_there_gets_arguments_all_the_same() -> None:
    steps = write_script(Asked("reasoner"), 1, 10, math.inf, shape=shape_of({"tool_choice": {"name": "x"}})).steps
    assert [step.name for step in steps if isinstance(step, ToolStart)] == ["x"]


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
        ({"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}}, {"n": 1}),
        (True, "x"),
    ],
)
def test_an_example_keeps_to_its_schema(schema: Any, want: object) -> None:
    assert example_of(schema, "x") == want


def test_a_schema_within_itself_has_an_end() -> None:
    assert example_of({"properties": {"next": {"$ref": "#"}}}, "x")
    assert example_of({"$ref": "#"}, "x") is None
