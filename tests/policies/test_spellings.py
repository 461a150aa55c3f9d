"""Names of arguments in other spellings, as clients that overlook these take them."""

import json
from typing import Any

import pytest

from streamviz.core.json_value import JsonObject
from streamviz.core.verdicts import Decision
from streamviz.policies import build
from streamviz.policies.spellings import spelt
from tests.policies.support import block, context, judge

OTHERS = ["Command", "COMMAND", "com_mand", "com-mand", "_command"]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string", "pattern": "^ls"}}}
TOOL = {"type": "function", "function": {"name": "run", "parameters": SCHEMA}}
KINDS: dict[str, tuple[str, JsonObject]] = {
    "a path": ("tool_rule", {"arguments": [{"path": "$.command", "pattern": "^rm"}]}),
    "a quoted path": ("tool_rule", {"arguments": [{"path": "$['command']", "pattern": "^rm"}]}),
    "a path to any": ("tool_rule", {"arguments": [{"path": "$..command", "pattern": "^rm"}]}),
    "CEL": ("cel_rule", {"expression": 'has(args.command) && args.command.startsWith("rm")'}),
    "CEL with a quoted name": ("cel_rule", {"expression": '"command" in args && args["command"].startsWith("rm")'}),
    "a schema": ("tool_schema", {}),
    "commands": ("shell_rule", {}),
}


def decided(kind: str, arguments: Any) -> Decision:
    called = block(json.dumps(arguments), name="run")
    return judge(build(*KINDS[kind]), called, context({"tools": [TOOL]})).decision


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["command", *OTHERS])
def test_a_rule_reads_a_name_in_any_spelling(kind: str, name: str) -> None:
    assert decided(kind, {name: "rm -rf /"}) is Decision.DENY
    assert decided(kind, {name: "ls"}) is Decision.ALLOW


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"commands"}))
@pytest.mark.parametrize("name", OTHERS)
def test_a_name_in_two_spellings_is_a_failure(kind: str, name: str) -> None:
    for arguments in ({"command": "ls", name: "rm -rf /"}, {name: "rm -rf /", "command": "ls"}):
        with pytest.raises(ValueError, match="in different spellings"):
            decided(kind, arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_which_no_rule_speaks_may_differ_in_their_spelling(kind: str) -> None:
    assert decided(kind, {"command": "ls", "env": {"PATH": "a", "Path": "b"}}) is Decision.ALLOW


@pytest.mark.parametrize("name", OTHERS)
def test_what_alone_is_allowed_is_spelt_as_the_rule_says(name: str) -> None:
    rule = build("tool_rule", {"action": "allow_only", "arguments": [{"path": "$.command", "pattern": "^ls"}]})
    assert judge(rule, block(json.dumps({"command": "ls"}))).decision is Decision.ALLOW
    assert judge(rule, block(json.dumps({name: "ls"}))).decision is Decision.DENY
    with pytest.raises(ValueError, match="in different spellings"):
        judge(rule, block(json.dumps({"command": "ls", name: "rm"})))


def test_names_that_a_rule_itself_tells_apart_stay_apart() -> None:
    value: JsonObject = {"id": 1, "ID": 2}
    assert spelt(value, {"id", "ID"}) == value


def test_letters_that_are_the_same_in_another_case_are_the_same() -> None:
    assert spelt({"\u017fhell": 1, "\u212aey": 2}, {"shell", "key"}) == {"shell": 1, "key": 2}
