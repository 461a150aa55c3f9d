"""Arguments that clients may read differently are a failure in every kind that reads arguments."""

from typing import Any

import pytest

from streamviz.core.blocks import StreamBlock, new_block
from streamviz.core.events import BlockDelta, BlockKind, BlockStarted
from streamviz.core.policy import Policy
from streamviz.core.verdicts import Decision
from streamviz.policies import build
from tests.core.support import Run, active, call, calls, chunks, delta
from tests.policies.support import block, context, judge

UNREADABLE = {
    "cut off": '{"command": "ls"',
    "cut off in a text": '{"command": "l',
    "a trailing comma": '{"command": "ls",}',
    "a comment": '{"command": "ls" /* all */}',
    "a comment behind": '{"command": "ls"} // all',
    "single quotes": "{'command': 'ls'}",
    "a key twice": '{"command": "ls", "command": "rm"}',
    "a key twice, escaped": '{"command": "ls", "c\\u006fmmand": "rm"}',
    "a key twice within": '{"a": [{"b": 1, "b": 2}]}',
    "NaN": '{"command": "ls", "n": NaN}',
    "out of range": '{"command": "ls", "n": 1e999}',
    "half a surrogate": '{"command": "ls \\ud800"}',
    "half a surrogate, bare": '{"command": "ls \ud800"}',
    "a byte order mark": '\ufeff{"command": "ls"}',
    "two values": '{"command": "ls"}{"command": "rm"}',
    "a control character": '{"command": "ls\x01"}',
    "too deep": '{"a":' * 300 + "1" + "}" * 300,
    "so deep that it cannot be parsed": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
    "a list": '["ls"]',
    "a text": '"ls"',
    "null": "null",
    "blank": " ",
    "words": "ls -l",
}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "a path": ("tool_rule", {"arguments": [{"path": "$.command", "pattern": "^mkfs"}]}),
    "a pattern": ("tool_rule", {"arguments": [{"pattern": "mkfs"}]}),
    "what alone is allowed": ("tool_rule", {"action": "allow_only", "arguments": [{"pattern": "^"}]}),
    "CEL": ("cel_rule", {"expression": "has(args.command) && false"}),
    "redact": ("redact", {}),
    "a schema": ("tool_schema", {}),
}
DECLARED = {"tools": [{"type": "function", "function": {"name": "run", "parameters": {}}}]}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arguments", UNREADABLE.values(), ids=UNREADABLE)
def test_arguments_that_clients_do_not_all_read_alike_are_a_failure(kind: str, arguments: str) -> None:
    with pytest.raises(ValueError, match="arguments"):
        build(*KINDS[kind]).on_block_complete(block(arguments, name="run"), context(DECLARED))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arguments", ["", "{}", ' {"command": "ls"}\n', '{"command": ["\\u006cs", {}]}'])
def test_arguments_that_all_clients_read_alike_are_judged(kind: str, arguments: str) -> None:
    assert judge(build(*KINDS[kind]), block(arguments, name="run"), context(DECLARED)).decision is Decision.ALLOW


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fail_open", [False, True])
async def test_such_a_failure_denies_or_allows_as_the_policy_fails(kind: str, fail_open: bool) -> None:
    it = Run([active(build(*KINDS[kind]), fail_open=fail_open)])
    it.context.request = context(DECLARED).request
    broken = calls(call(0, "x", "run", '{"command": "ls"'))
    await it.finish(chunks(broken, delta(finish="tool_calls"), "[DONE]"))
    [judgement] = it.context.judgements
    assert "cannot be read" in judgement.failure
    assert judgement.verdict.decision is (Decision.ALLOW if fail_open else Decision.DENY)
    assert ("ls" in it.tape.decode()) is fail_open


def test_a_failure_quotes_nothing_of_the_arguments() -> None:
    for kind, parameters in KINDS.values():
        with pytest.raises(ValueError, match="arguments") as raised:
            build(kind, parameters).on_block_complete(
                block('{"k": "hunter2", "hunter2": 1, "hunter2": 2}', name="run"), context(DECLARED)
            )
        assert "hunter2" not in str(raised.value)


def test_who_does_not_read_the_arguments_does_not_fail() -> None:
    for kind, parameters in (("tool_rule", {"names": ["x"]}), ("cel_rule", {"expression": "block.size > 9999"})):
        assert judge(build(kind, parameters), block("{", name="run")).decision is Decision.ALLOW


def free_text(text: str) -> StreamBlock:
    """A call of a tool that takes plain text."""
    made = new_block(BlockStarted(0, BlockKind.TOOL_CALL, name="run", label="custom_tool_call"), 0, 0)
    made.grow(BlockDelta(0, text))
    return made


PATCH = "*** Begin Patch\nmail bob@example.com"


@pytest.mark.parametrize(
    "policy",
    [
        build("tool_rule", {"arguments": [{"path": "$.input", "pattern": "Begin Patch"}]}),
        build("tool_rule", {"arguments": [{"pattern": "Begin Patch"}]}),
        build("cel_rule", {"expression": 'args.input.contains("Begin Patch") && block.runner == "client"'}),
    ],
)
def test_plain_text_is_one_member(policy: Policy) -> None:
    assert judge(policy, free_text(PATCH)).decision is Decision.DENY


def test_plain_text_is_masked_as_it_is() -> None:
    assert judge(build("redact", {}), free_text(PATCH)).text == "*** Begin Patch\nmail [e-mail removed]"


def test_calls_of_all_wires_are_seen_by_one_vocabulary() -> None:
    expression = 'block.label == "shell_call" && block.name == "shell" && block.runner == "client"'
    made = new_block(BlockStarted(0, BlockKind.TOOL_CALL, name="shell", label="shell_call"), 0, 0)
    assert judge(build("cel_rule", {"expression": expression}), made).decision is Decision.DENY
    assert judge(build("cel_rule", {"expression": expression}), block(name="shell")).decision is Decision.ALLOW
