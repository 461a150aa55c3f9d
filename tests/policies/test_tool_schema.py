"""tool_schema: arguments are what the request declared."""

import json
from typing import Any

import pytest

from streamviz.core.context import StreamingContext
from streamviz.core.policy import Decision
from streamviz.policies import build
from tests.policies.support import block, context, judge

SCHEMA = {
    "type": "object",
    "required": ["path"],
    "additionalProperties": False,
    "properties": {"path": {"type": "string", "pattern": "^/tmp/"}, "depth": {"type": "integer", "maximum": 3}},
}


def declaring(schema: Any = SCHEMA, format: str = "openai_chat") -> StreamingContext:
    tool: dict[str, Any]
    if format == "openai_chat":
        tool = {"type": "function", "function": {"name": "list", "parameters": schema}}
    elif format == "anthropic_messages":
        tool = {"name": "list", "input_schema": schema}
    else:
        tool = {"type": "function", "name": "list", "parameters": schema}
    return context({"tools": [tool]}, format)


@pytest.mark.parametrize("format", ["openai_chat", "anthropic_messages", "openai_responses"])
@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ('{"path": "/tmp/x"}', None),
        ('{"path": "/tmp/x", "depth": 3}', None),
        ('{"path": "/etc/x"}', "pattern"),
        ('{"path": "/tmp/x", "depth": 4}', "maximum"),
        ('{"path": 7}', "type"),
        ("{}", "required"),
        ("", "required"),
        ('{"path": "/tmp/x", "more": 1}', "additionalProperties"),
        ("[]", "type"),
    ],
)
def test_arguments_are_checked(format: str, arguments: str, rule: str | None) -> None:
    verdict = judge(build("tool_schema", {}), block(arguments, name="list"), declaring(format=format))
    assert verdict.decision is (Decision.DENY if rule else Decision.ALLOW)
    assert verdict.evidence.get("rule") == rule


def test_arguments_that_are_no_json_are_denied() -> None:
    verdict = judge(build("tool_schema", {"text": "no"}), block('{"path": "/tmp/x"', name="list"), declaring())
    assert (verdict.decision, verdict.reason, verdict.text) == (
        Decision.DENY,
        "The arguments of list are not JSON.",
        "no",
    )


def test_a_reason_quotes_nothing_of_the_arguments() -> None:
    verdict = judge(build("tool_schema", {}), block('{"path": "hunter2"}', name="list"), declaring())
    assert "hunter2" not in repr(verdict)


def test_a_tool_that_was_not_declared_is_denied_unless_it_is_allowed() -> None:
    call = block("{}", name="rm")
    assert judge(build("tool_schema", {}), call, declaring()).decision is Decision.DENY
    assert build("tool_schema", {"undeclared": "allow"}).on_block_complete(call, declaring()) is None


def test_a_slow_pattern_of_the_clients_takes_no_longer() -> None:
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(b+)+$": {"type": "string"}}}
    arguments = json.dumps({"a": "a" * 50_000 + "!", "b" * 50_000: 1})
    assert judge(build("tool_schema", {}), block(arguments, name="list"), declaring(schema)).decision is Decision.DENY


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/schema", "file:///etc/passwd", "#/$defs/nothing"])
def test_nothing_is_fetched_that_a_schema_refers_to(reference: str) -> None:
    with pytest.raises(Exception, match=r"Unresolvable|PointerToNowhere"):
        judge(build("tool_schema", {}), block("{}", name="list"), declaring({"$ref": reference}))


SLOW_KEY = "a" * 50_000 + "!"


@pytest.mark.parametrize("additional", [False, {"type": "string"}])
def test_a_slow_pattern_beside_additional_properties_takes_no_longer(additional: Any) -> None:
    schema = {"patternProperties": {"^(a+)+$": {"type": "integer"}}, "additionalProperties": additional}
    policy = build("tool_schema", {})
    assert judge(policy, block(json.dumps({SLOW_KEY: 1}), name="list"), declaring(schema)).decision is Decision.DENY
    assert judge(policy, block('{"aa": 1}', name="list"), declaring(schema)).decision is Decision.ALLOW


def test_what_cannot_be_checked_safely_is_a_failure() -> None:
    schema = {"allOf": [{"patternProperties": {"^(a+)+$": True}}], "unevaluatedProperties": False}
    with pytest.raises(ValueError, match="not checked together"):
        judge(build("tool_schema", {}), block(json.dumps({SLOW_KEY: 1}), name="list"), declaring(schema))


def doubling(depth: int) -> Any:
    """A small schema that takes 2 to the power of `depth` steps."""
    steps = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/s0", "$defs": {**steps, f"s{depth}": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (doubling(60), '{"a": 1}'),
        ({"$ref": "#"}, "{}"),
        ({"type": "array", "items": {"type": "integer"}}, json.dumps([1] * 500_000)),
    ],
    ids=["doubling", "circular", "long"],
)
def test_what_would_take_too_long_is_a_failure(schema: Any, arguments: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        judge(build("tool_schema", {}), block(arguments, name="list"), declaring(schema))


@pytest.mark.parametrize("is_twice", [False, True])
def test_many_different_items_are_compared_quickly(is_twice: bool) -> None:
    items = [{"n": number} for number in range(20_000)]
    arguments = json.dumps({"list": items + items[:1] if is_twice else items})
    verdict = judge(
        build("tool_schema", {}),
        block(arguments, name="list"),
        declaring({"properties": {"list": {"uniqueItems": True}}}),
    )
    assert verdict.decision is (Decision.DENY if is_twice else Decision.ALLOW)
