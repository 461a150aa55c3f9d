"""Calls of tools in namespaces, as OpenAI's responses have them: policies know such a tool by both of its names."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from streamviz.core.blocks import ToolCallStreamBlock
from streamviz.core.policy import ActivePolicy, Work
from streamviz.core.policy_settings import BlockScope
from streamviz.core.verdicts import Decision, Verdict
from streamviz.evaluation import tasks
from streamviz.policies import build, build_short
from tests.core.support import active
from tests.exchange.support import Play

ITEM = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "run", "namespace": "mcp__admin"}
COMMAND = {**ITEM, "arguments": '{"line":"rm -rf /"}', "status": "completed"}
RESPONSE = {"id": "resp_1", "object": "response", "model": "m", "status": "completed"}


def read(
    *policies: Any, items: Iterable[dict[str, Any]] = (ITEM, COMMAND), between: Iterable[dict[str, Any]] = ()
) -> Play:
    """A stream in which upstream announces a call as the first of these items, and ends it as the second, with these
    events in between."""
    first, last = items
    events = [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**first, "arguments": ""}},
        *between,
        {"type": "response.output_item.done", "output_index": 0, "item": last},
        {"type": "response.completed", "response": {**RESPONSE, "output": [last]}},
    ]
    in_force = [each if isinstance(each, ActivePolicy) else active(each) for each in policies]
    play = Play("openai_responses", in_force).opened()
    for each in events:
        play.received(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode())
    return play.ended()


def call_of(play: Play) -> ToolCallStreamBlock:
    [block] = play.stream.state.blocks
    assert isinstance(block, ToolCallStreamBlock)
    return block


def denials(play: Play) -> list[Decision]:
    return [each.verdict.decision for each in play.context.judgements if each.verdict.decision is not Decision.ALLOW]


@pytest.mark.parametrize(
    ("kind", "parameters", "is_denied"),
    [
        ("tool_rule", {"names": ["run"]}, True),
        ("tool_rule", {"names": ["mcp__admin__*"]}, True),
        ("tool_rule", {"names": ["mcp__other__*"]}, False),
        ("tool_rule", {"action": "allow_only", "names": ["mcp__admin__run"]}, False),
        ("tool_rule", {"action": "allow_only", "names": ["run"]}, False),
        ("tool_rule", {"action": "allow_only", "names": ["mcp__other__run"]}, True),
        ("shell_rule", {"tools": ["mcp__admin__run"]}, True),
        ("shell_rule", {"tools": ["mcp__other__run"]}, False),
        ("cel_rule", {"expression": 'block.namespace == "mcp__admin" && block.name == "run"'}, True),
        ("cel_rule", {"expression": 'block.namespace == ""'}, False),
    ],
)
def test_a_policy_knows_a_tool_by_its_own_name_and_by_that_with_its_namespace(
    kind: str, parameters: dict[str, Any], is_denied: bool
) -> None:
    assert bool(denials(read(build(kind, parameters)))) is is_denied


@pytest.mark.parametrize(("glob", "applies"), [("run", True), ("mcp__admin*", True), ("mcp__other*", False)])
def test_the_scope_of_a_policy_does_too(glob: str, applies: bool) -> None:
    assert BlockScope(tools=(glob,)).applies(call_of(read())) is applies


def test_a_call_whose_name_comes_late_waits_for_a_policy_for_some_tools() -> None:
    policy = replace(active(build("tool_rule", {})), scope=BlockScope(tools=("run",)))
    assert b"rm -rf" not in read(policy, items=({**ITEM, "name": ""}, COMMAND)).sent


def test_a_namespace_may_end_in_the_underscores_before_the_name() -> None:
    older = {"namespace": "mcp__admin__"}
    play = read(build("tool_rule", {"names": ["mcp__admin__run"]}), items=({**ITEM, **older}, {**COMMAND, **older}))
    assert denials(play) == [Decision.DENY]


def test_a_policy_in_a_process_of_its_own_is_told_the_namespace() -> None:
    play = read()
    work = Work(build_short("tool_rule", {"names": ["mcp__admin__run"]}), call_of(play), play.context)
    judged = tasks.answer_in(tasks.carry_out(tasks.task_in(tasks.encoded(tasks.task_of(work, 5)))))
    assert isinstance(judged.verdict, Verdict)
    assert judged.verdict.decision is Decision.DENY


@pytest.mark.parametrize("other", [{"namespace": "mcp__other"}, {"namespace": ""}])
def test_a_call_whose_namespace_changes_is_a_contradiction(other: dict[str, str]) -> None:
    assert read(items=(ITEM, {**COMMAND, **other})).stream.state.contradiction.endswith("becomes one of another tool")
    assert not read().stream.state.contradiction


def test_the_end_of_a_calls_arguments_need_not_repeat_its_namespace() -> None:
    """Some servers name the tool there, where there is no place for its namespace."""
    end = {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": ITEM["id"], "name": "run"}
    play = read(build("tool_rule", {"names": ["ls"]}), between=({**end, "arguments": COMMAND["arguments"]},))
    assert not play.stream.state.contradiction
    assert b"rm -rf" in play.sent


@pytest.mark.parametrize(("name", "value"), [("Namespace", "mcp__admin"), ("namespace", ["mcp__admin"])])
def test_a_namespace_that_only_some_clients_would_read_never_reaches_them(name: str, value: object) -> None:
    first, last = ({**{key: item[key] for key in item if key != "namespace"}, name: value} for item in (ITEM, COMMAND))
    play = read(build("tool_rule", {"names": ["mcp__admin__*"]}), items=(first, last))
    assert b"mcp__admin" not in play.sent
