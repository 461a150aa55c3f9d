"""cel_rule: an operator's expression decides, and its errors are reported when it is saved."""

from contextlib import suppress

import pytest

from streamviz.core.context import SessionCounts
from streamviz.core.errors import PolicyParametersError
from streamviz.core.events import BlockKind
from streamviz.core.policy import TakesLong
from streamviz.core.request import ModelCall
from streamviz.core.verdicts import Decision, Verdict
from streamviz.policies import build, build_short
from tests.core.support import Run, active, call, calls, chunks, delta
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
def test_an_expression_sees_the_call_its_request_and_its_session(expression: str, is_denied: bool) -> None:
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
    assert judge(policy, content) == Verdict(Decision.HALT, "why", "t", {"expression": "true"})


def test_it_can_judge_requests() -> None:
    policy = build("cel_rule", {"expression": 'request.model == "big"', "on": ["request"]})
    denied, allowed = (policy.on_request(ModelCall("openai_chat", {"model": name}), context()) for name in ("big", "m"))
    assert isinstance(denied, Verdict)
    assert isinstance(allowed, Verdict)
    assert (denied.decision, allowed.decision) == (Decision.DENY, Decision.ALLOW)


@pytest.mark.parametrize(
    "expression",
    ['request.model == "gpt-4o"', 'request.asked == "fast"', 'request.models.exists(m, m == "openai/gpt-4o")'],
)
def test_it_knows_the_model_that_is_called_by_each_of_its_names(expression: str) -> None:
    call = ModelCall("openai_chat", {"model": "fast"}, names=("gpt-4o", "openai/gpt-4o", "fast"))
    verdict = build("cel_rule", {"expression": expression, "on": ["request"]}).on_request(call, context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.DENY


@pytest.mark.parametrize("expression", ["args.missing == 1", "1 + 1", "1 / 0 > 1", "args.command > 5"])
def test_what_cannot_be_decided_is_a_failure(expression: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever it is, the chain takes it for the policy's failure
        judge(build("cel_rule", {"expression": expression}), CALL)


@pytest.mark.parametrize(
    ("expression", "word"),
    [("block.name ==", "line 1, character 14: it ends too early$"), ("true &&\n@", "line 2, character 1: .*'@'$"),
     ("has(x)", "line 1, character 5: invalid argument to has"),
     ("blok.name == 'x'", "blok is not known"), ("block.name.lowerAscii() == 'x'", "there is no function lowerAscii"),
     ("all(args.x, true)", "there is no function all"), ("a" * 5000, "too long"),
     ("[1].all(a, [1].all(b, [1].all(c, true)))", "at most 2 loops"),
     ("[1].all(a, [1].existsOne(b, [1].all // x\n(block, true)))", "at most 2 loops")],
)  # fmt: skip
def test_what_is_wrong_with_it_is_told_at_its_field(expression: str, word: str) -> None:
    with pytest.raises(PolicyParametersError, match=word) as raised:
        build("cel_rule", {"expression": expression})
    assert raised.value.field == "expression"


NESTED = "args.list.all(a, args.list.all(b, a + b >= 0))"


def test_a_list_that_is_too_long_for_loops_is_a_failure() -> None:
    short, long = (block(f'{{"list": {[1] * number}}}') for number in (100, 2_000))
    policy = build("cel_rule", {"expression": NESTED})
    assert judge(policy, short).decision is Decision.DENY
    with pytest.raises(ValueError, match="too large"):
        judge(policy, long)
    once = build("cel_rule", {"expression": "args.list.all(a, a > 0)"})
    assert judge(once, long).decision is Decision.DENY


ZEROS = f"[{', '.join('0' * 400)}]"


@pytest.mark.parametrize(
    ("expression", "length"),
    [
        ("args.list. // why\nall //\n(block, args.list.all(type, true))", 200),
        ("args.list.existsOne(a, args.list.existsOne(b, true))", 200),
        (f"{ZEROS}.all(a, {ZEROS}.all(b, true))", 1),
    ],
)
def test_a_loop_that_may_take_long_does_not_run_where_clients_wait(expression: str, length: int) -> None:
    policy = build_short("cel_rule", {"expression": expression})
    with pytest.raises(TakesLong):
        policy.on_block_complete(block(f'{{"list": {[1] * length}}}', name="f"), context())


def test_only_what_it_names_is_made_for_it() -> None:
    huge = context({"model": "m", "messages": [{"role": "user", "content": "x"}] * 3_000})
    assert judge(build("cel_rule", {"expression": NESTED}), block('{"list": [1]}'), huge).decision is Decision.DENY


@pytest.mark.parametrize(
    "expression",
    ["9223372036854775807 + 1 > 0", "int(1e300) > 0", "[1][5] > 0", "1 % 0 == 1", "timestamp('x') > timestamp('y')",
     "block.text[0] == 'a'", "'a' + 1 == 'b'"],
)  # fmt: skip
async def test_nothing_that_an_expression_does_is_more_than_its_own_failure(expression: str) -> None:
    it = Run([active(build("cel_rule", {"expression": expression}))])
    await it.finish(chunks(calls(call(0, "a", "f", "{}")), delta(finish="tool_calls"), "[DONE]"))
    [judgement] = it.context.judgements
    assert judgement.failure
    assert judgement.verdict.decision is Decision.DENY


def test_a_deep_expression_is_refused_or_taken() -> None:
    for deep in ("(" * 1_900 + "true" + ")" * 1_900, "!" * 3_900 + "true", "[" * 1_900 + "]" * 1_900 + " == []"):
        with suppress(PolicyParametersError):
            build("cel_rule", {"expression": deep})


@pytest.mark.parametrize(
    "expression",
    [
        "args[args.a] == 1",
        "duration(args.a) > duration('1s')",
        "'x'.matches(args.a + '(')",
        "args.a > 3",
        "args.b == 1",
    ],
)
def test_a_failure_quotes_nothing_of_the_arguments(expression: str) -> None:
    with pytest.raises(ValueError, match="cannot be evaluated") as failure:
        judge(build("cel_rule", {"expression": expression}), block('{"a": "hunter2secret"}', name="f"))
    assert "hunter2" not in str(failure.value)
