"""Work that a policy hands to a separate process: asked as a question, awaited, and a failure if there is no answer."""

import json
from typing import Any

import pytest

from streamviz.core.events import BlockKind
from streamviz.core.judgements import ChainContext, Judged, Question, Unanswered
from streamviz.core.policy import TakesLong
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.verdicts import ALLOW, Decision, Mode, Verdict
from streamviz.evaluation.tasks import answer_in, carry_out, encoded, task_in, task_of
from streamviz.policies import build_short
from tests.core.support import Opinion, Run, active, call, calls, chunks, delta

LONG = json.dumps({"command": "x" * 20_000})
CALL = calls(call(0, "x", "run", LONG))
DENIED = Verdict(Decision.DENY, "found", "[no]")


async def held(mode: Mode = Mode.ENFORCE, *, fail_open: bool = False) -> tuple[Run, Question]:
    """A call that is too long to be judged in the event loop, and the question that its policy asks."""
    rule = build_short("tool_rule", {"arguments": [{"path": "$.command", "pattern": "rm"}]})
    it = Run([active(rule, mode, fail_open=fail_open)])
    await it.finish(chunks(CALL, delta(finish="tool_calls"), "[DONE]"))
    [question] = it.context.questions.values()
    return it, question


def answer(it: Run, question: Question, said: Judged | Unanswered) -> str:
    it.chain.answer(question.number, said, it.processor.state, it.context)
    return it.tape.decode()


async def test_a_block_is_held_until_a_process_has_judged_it() -> None:
    it, question = await held()
    assert (it.tape, question.is_awaited, question.is_for_a_person) == (b"", True, False)
    assert question.work is not None
    assert question.work.subject is it.processor.state.blocks[0]
    assert (
        LONG[:50]
        in json.loads(answer(it, question, Judged(ALLOW)).split("\n")[0][6:])["choices"][0]["delta"]["tool_calls"][0][
            "function"
        ]["arguments"]
    )
    assert [judgement.verdict for judgement in it.context.judgements] == [ALLOW]


async def test_what_a_process_denies_is_denied() -> None:
    it, question = await held()
    sent = answer(it, question, Judged(DENIED))
    assert "[no]" in sent
    assert "xxx" not in sent


async def test_a_process_knows_the_end_of_the_text_before() -> None:
    rule = build_short("text_rule", {"patterns": ["secret"], "replacement": "[gone]"})
    it = Run([active(rule), active(Opinion(lambda _: None, [BlockKind.CONTENT]), name="holder")])
    texts = ({"content": f"{'x' * 300} sec"}, {"reasoning_content": "Well."}, {"content": "ret is"})
    await it.finish(chunks(*(delta(**text) for text in texts), delta(finish="stop")))
    for number, question in list(it.context.questions.items()):
        assert question.work is not None
        told = answer_in(carry_out(task_in(encoded(task_of(question.work, question.seconds)))))
        it.chain.answer(number, told, it.processor.state, it.context)
    assert it.client_state.blocks[2].text == "[gone] is"


@pytest.mark.parametrize("fail_open", [False, True])
@pytest.mark.parametrize(
    ("said", "failure"),
    [
        (Judged(None, "Died: it ended"), "Died: it ended"),
        (Unanswered("it took longer than 30 s"), "TimeoutError: it took longer than 30 s"),
        (Judged(None, "ValueError: too long"), "ValueError: too long"),
    ],
)
async def test_no_answer_is_the_policys_failure(said: Judged | Unanswered, failure: str, fail_open: bool) -> None:
    it, question = await held(fail_open=fail_open)
    assert ("xxx" in answer(it, question, said)) is fail_open
    [judgement] = it.context.judgements
    assert judgement.failure == failure


async def test_a_shadow_is_not_waited_for() -> None:
    it, question = await held(Mode.SHADOW)
    assert "xxx" in it.tape.decode()
    assert not question.is_awaited
    answer(it, question, Judged(DENIED))
    assert [judgement.verdict for judgement in it.context.judgements] == [DENIED]


SCHEMA = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}
HUGE: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "tool_rule": ({"arguments": [{"path": "$..x", "pattern": "rm"}]}, json.dumps({"l": [1] * 2_000}), {}),
    "cel_rule": ({"expression": "args.l.all(a, args.l.all(b, a == b))"}, json.dumps({"l": [1] * 300}), {}),
    "shell_rule": ({}, json.dumps({"command": "nc a | " * 50}), {}),
    "redact": ({}, json.dumps({"l": "a@b.co " * 500}), {}),
    "tool_schema": ({}, "{}", {"tools": [{"type": "function", "function": {"name": "run", "parameters": SCHEMA}}]}),
}


@pytest.mark.parametrize("kind", HUGE)
async def test_each_kind_of_policy_puts_off_what_may_take_long(kind: str) -> None:
    parameters, arguments, request = HUGE[kind]
    it = Run([active(build_short(kind, parameters))])
    it.context.request = ModelCall("openai_chat", request)
    await it.finish(chunks(calls(call(0, "x", "run", arguments)), delta(finish="tool_calls"), "[DONE]"))
    assert [question.work is not None for question in it.context.questions.values()] == [True]


@pytest.mark.parametrize("kind", HUGE)
async def test_what_is_short_is_judged_at_once(kind: str) -> None:
    parameters, _, _ = HUGE[kind]
    it = Run([active(build_short(kind, parameters))])
    tool = {"name": "run", "parameters": {"type": "object"}}
    it.context.request = ModelCall("openai_chat", {"tools": [{"type": "function", "function": tool}]})
    await it.finish(chunks(calls(call(0, "x", "run", '{"l": [1]}')), delta(finish="tool_calls"), "[DONE]"))
    assert not it.context.questions
    assert [judgement.failure for judgement in it.context.judgements] == [""]


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("redact", {}),
        ("request_rule", {"patterns": [{"pattern": "x"}]}),
        ("request_rule", {"tools": ["x"]}),
        ("cel_rule", {"on": ["request"], "expression": 'request.model == "x"'}),
    ],
)
@pytest.mark.parametrize("size", [20_000, 32_000_000])
def test_a_long_request_is_put_off(kind: str, parameters: dict[str, Any], size: int) -> None:
    context = ChainContext("r", lambda: 0)
    messages = [{"role": "user", "content": "hi"}]
    call = ModelCall("openai_chat", {"model": "m", "messages": messages}, size)
    judging = RequestJudging([active(build_short(kind, parameters))], call, context)
    [question] = context.questions.values()
    assert question.work is not None
    assert not judging.is_settled
    judging.answer(question.number, Judged(ALLOW))
    assert judging.is_settled


def test_a_class_of_an_operators_own_stays_where_it_is() -> None:
    assert build_short("python", {"path": "tests.e2e.own_policies.Exits"}).recipe is None


def test_nothing_is_put_off_where_no_other_process_can_make_the_policy() -> None:
    rule = build_short("redact", {})
    with pytest.raises(TakesLong):
        rule.require_short(False)
    rule.recipe = None
    rule.require_short(False)


async def test_others_get_on_while_a_long_text_or_many_events_are_read() -> None:
    rests = []

    async def rest() -> None:
        rests.append(1)

    rule = active(build_short("text_rule", {"patterns": ["secret"]}))
    it = Run([rule], rest=rest)
    await it.finish(chunks(delta(content="x" * 100_000 + "a secret"), delta(finish="stop"), "[DONE]"))
    assert it.client_state.blocks[0].text == "x" * 100_000 + "a [removed]"
    assert len(rests) > 100_000 / 1_000
    rests.clear()
    it = Run([rule], rest=rest)
    await it.finish(chunks(*[delta(content="x")] * 1_000))
    assert len(rests) >= 10


async def test_a_limit_is_never_put_off_for_it_counts_what_only_the_stream_has() -> None:
    rule = build_short("limits", {"stream": {"tool_calls": 1}})
    it = Run([active(rule)])
    await it.finish(chunks(calls(call(0, "x", "run", LONG)), delta(finish="tool_calls"), "[DONE]"))
    assert not it.context.questions
    assert [judgement.failure for judgement in it.context.judgements] == [""]
    assert "xxx" in it.tape.decode()
