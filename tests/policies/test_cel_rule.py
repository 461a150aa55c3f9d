"""cel_rule: an operator's expression decides, and what is wrong with it is told when it is saved."""

import pytest

from streamviz.core.context import SessionCounts
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockKind
from streamviz.core.policy import Decision, Verdict
from streamviz.core.request import ModelCall
from streamviz.policies import build
from tests.policies.support import block, context, judge

CALL = block('{"command": "rm -rf /", "list": [1, 2]}', name="run_shell")


@pytest.mark.parametrize(
    ("expression", "is_denied"),
    [
        ('block.name == "run_shell"', True),
        ('has(args.command) && args.command.contains("rm")', True),
        ("has(args.other)", False),
        ('args.command.matches("^rm\\\\s")', True),
        ("args.list.exists(n, n > 1)", True),
        ('block.kind == "tool_call" && block.size > 1000', False),
        ('"search" in request.tools', True),
        ("request.fields.temperature > 0.5", True),
        ('request.model.startsWith("gpt-")', False),
        ("session.streams >= 3 && session.cost > 0.1", True),
        ("stream.tool_calls > 0", False),
    ],
)
def test_what_an_expression_can_see(expression: str, is_denied: bool) -> None:
    tools = [{"type": "function", "function": {"name": "search"}}]
    of = context({"model": "m", "temperature": 0.7, "tools": tools}, session=SessionCounts(streams=3, cost=0.2))
    verdict = judge(build("cel_rule", {"expression": expression}), CALL, of)
    assert verdict.decision is (Decision.DENY if is_denied else Decision.ALLOW)


def test_it_holds_and_judges_only_what_it_is_asked_about() -> None:
    policy = build(
        "cel_rule", {"expression": "true", "on": ["content"], "decision": "halt", "reason": "why", "text": "t"}
    )
    assert not policy.holds(CALL)
    assert policy.on_block_complete(CALL, context()) is None
    content = block("x", BlockKind.CONTENT)
    assert policy.holds(content)
    assert judge(policy, content) == Verdict(Decision.HALT, "why", "t")


def test_it_can_judge_requests() -> None:
    policy = build("cel_rule", {"expression": 'request.model == "big"', "on": ["request"]})
    denied, allowed = (policy.on_request(ModelCall("openai_chat", {"model": name}), context()) for name in ("big", "m"))
    assert isinstance(denied, Verdict)
    assert isinstance(allowed, Verdict)
    assert (denied.decision, allowed.decision) == (Decision.DENY, Decision.ALLOW)


@pytest.mark.parametrize("expression", ["args.missing == 1", "1 + 1", "1 / 0 > 1", "args.command > 5"])
def test_what_cannot_be_decided_is_a_failure(expression: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever it is, the chain takes it for the policy's failure
        judge(build("cel_rule", {"expression": expression}), CALL)


@pytest.mark.parametrize(
    ("expression", "word"),
    [("block.name ==", "expression"), ("blok.name == 'x'", "blok is not known"), ("a" * 5000, "too long"),
     ("[1].all(a, [1].all(b, [1].all(c, true)))", "at most 2 loops")],
)  # fmt: skip
def test_what_is_wrong_with_it_is_told_at_its_field(expression: str, word: str) -> None:
    with pytest.raises(PolicyParametersError, match=word) as raised:
        build("cel_rule", {"expression": expression})
    assert raised.value.field == "expression"
