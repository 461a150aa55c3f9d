"""Calls of Qwen Code's own tool that calls others by name: policies know such a call by the name of that tool, too."""

import json
from typing import Any

import pytest

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.policy_settings import BlockScope, names_of
from streamviz.core.verdicts import Decision, Verdict
from streamviz.policies import build
from tests.core.support import active
from tests.exchange.support import Play

CALLED = json.dumps({"name": "mcp__admin__run", "arguments": {"line": "rm -rf /"}})


def read(*policies: Any, name: str = "tool_call", arguments: str = CALLED) -> Play:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    chunk = {"id": "i", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    play = Play("openai_chat", [active(each) for each in policies]).opened()
    for choice in ({"delta": {"tool_calls": [call]}}, {"delta": {}, "finish_reason": "tool_calls"}):
        play.received(f"data: {json.dumps({**chunk, 'choices': [{'index': 0, **choice}]})}\n\n".encode())
    return play.ended()


def denials(play: Play) -> list[Verdict]:
    said = [each.verdict for each in play.context.judgements]
    return [verdict for verdict in said if verdict.decision is not Decision.ALLOW]


@pytest.mark.parametrize(
    ("kind", "parameters", "is_denied"),
    [
        ("tool_rule", {"names": ["mcp__admin__*"]}, True),
        ("tool_rule", {"names": ["MCP__ADMIN__RUN"]}, True),
        ("tool_rule", {"names": ["tool_call"]}, True),
        ("tool_rule", {"names": ["mcp__other__*"]}, False),
        ("tool_rule", {"action": "allow_only", "names": ["mcp__admin__run"]}, False),
        ("tool_rule", {"action": "allow_only", "names": ["mcp__other__run"]}, True),
        ("tool_rule", {"names": ["mcp__admin__run"], "arguments": [{"path": "$.line", "pattern": "rm"}]}, True),
        ("tool_rule", {"names": ["mcp__admin__run"], "arguments": [{"path": "$.line", "pattern": "ls"}]}, False),
        ("tool_rule", {"names": ["tool_call"], "arguments": [{"path": "$.name", "pattern": "^mcp__admin__"}]}, True),
        ("shell_rule", {"tools": ["mcp__admin__run"]}, True),
        ("shell_rule", {"tools": ["mcp__other__run"]}, False),
    ],
)
def test_a_policy_knows_the_tool_that_is_called_by_name(kind: str, parameters: Any, is_denied: bool) -> None:
    assert bool(denials(read(build(kind, parameters)))) is is_denied


@pytest.mark.parametrize("name", ["ToolCall", "ToolCallTool", "TOOL_CALL"])
def test_the_tool_that_calls_others_has_several_names(name: str) -> None:
    [denied] = denials(read(build("tool_rule", {"names": ["mcp__admin__*"]}), name=name))
    assert denied.reason == "mcp__admin__run is denied: its name matches mcp__admin__*."


def test_a_tool_that_is_called_by_a_call_within_a_call_is_known() -> None:
    policy = build("tool_rule", {"names": ["mcp__admin__*"]})
    within = json.dumps({"name": "tool_call", "arguments": json.loads(CALLED)})
    [denied] = denials(read(policy, arguments=within))
    assert denied.reason == "mcp__admin__run is denied: its name matches mcp__admin__*."


@pytest.mark.parametrize("arguments", [CALLED[:-1], '{"name": "ls", "name": "mcp__admin__run", "arguments": {}}'])
def test_a_call_whose_tool_is_unclear_does_not_go_out(arguments: str) -> None:
    play = read(build("tool_rule", {"names": ["mcp__admin__*"]}), arguments=arguments)
    assert b"mcp__admin" not in play.sent


def test_a_pattern_is_found_in_a_call_whose_tool_is_unclear() -> None:
    policy = build("tool_rule", {"arguments": [{"pattern": "rm -rf"}]})
    [denied] = denials(read(policy, arguments=CALLED[:-1]))
    assert denied.reason == "tool_call is denied: its arguments match rm -rf."


AS_TEXT = json.dumps({"name": "mcp__admin__run", "arguments": json.dumps({"line": "rm -rf /"})})
WITHIN = json.dumps({"name": "tool_call", "arguments": json.loads(CALLED)})
AS_TEXT_WITHIN = json.dumps({"name": "tool_call", "arguments": AS_TEXT})


@pytest.mark.parametrize("arguments", [AS_TEXT, WITHIN, AS_TEXT_WITHIN])
@pytest.mark.parametrize("path", ["$.line", "$.arguments.line"])
def test_a_path_leads_into_what_the_tool_that_is_called_gets(arguments: str, path: str) -> None:
    rule = {"names": ["mcp__admin__run"], "arguments": [{"path": path, "pattern": "rm"}]}
    [denied] = denials(read(build("tool_rule", rule), arguments=arguments))
    assert denied.reason.endswith(f"its arguments match rm at {path}.")


@pytest.mark.parametrize("given", ["rm -rf /", '{"line": "ls", "line": "rm -rf /"}'])
def test_what_the_tool_that_is_called_gets_must_be_readable(given: str) -> None:
    rule = {"arguments": [{"path": "$.line", "pattern": "rm"}]}
    arguments = json.dumps({"name": "mcp__admin__run", "arguments": given})
    [denied] = denials(read(build("tool_rule", rule), arguments=arguments))
    assert "cannot be read as one JSON object" in denied.reason


def test_calls_are_read_only_a_few_within_each_other() -> None:
    value: dict[str, Any] = json.loads(CALLED)
    for _ in range(3):
        value = {"name": "tool_call", "arguments": value}
    rule = {"arguments": [{"path": "$.line", "pattern": "rm"}]}
    [denied] = denials(read(build("tool_rule", rule), arguments=json.dumps(value)))
    assert "too many calls within each other" in denied.reason


def test_a_tool_that_is_called_in_unclear_text_may_be_any() -> None:
    twice = '{"name": "mcp__admin__run", "name": "ls", "arguments": {}}'
    arguments = json.dumps({"name": "tool_call", "arguments": twice})
    [denied] = denials(read(build("tool_rule", {"names": ["mcp__admin__*"]}), arguments=arguments))
    assert "cannot be read as one JSON object" in denied.reason


def test_other_tools_that_take_a_name_are_known_by_their_own() -> None:
    assert not denials(read(build("tool_rule", {"names": ["mcp__admin__*"]}), name="install"))
    assert names_of(call_of("install", CALLED)) == ("install",)


def call_of(name: str, arguments: str) -> ToolCallStreamBlock:
    play = read(name=name, arguments=arguments)
    [block] = play.stream.state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    return block


@pytest.mark.parametrize(
    ("glob", "applies"), [("mcp__admin*", True), ("tool_*", True), ("mcp__other*", False), ("run", False)]
)
def test_the_scope_of_a_policy_does_too(glob: str, applies: bool) -> None:
    scope, whole = BlockScope(tools=(glob,)), call_of("tool_call", CALLED)
    assert scope.applies(whole) is applies
    assert scope.may_apply(call_of("tool_call", CALLED[:12]))
    cut_off = call_of("tool_call", CALLED[:12])
    assert scope.applies(cut_off)
    cut_off.namespace = "mcp__x"
    assert scope.applies(cut_off)
