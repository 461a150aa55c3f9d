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
