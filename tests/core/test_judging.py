"""Judges, people and failures: concurrent, in order, within their time limits, and reported as they happened."""

from collections.abc import Callable
from typing import Any

import pytest

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock, StreamState, ToolCallStreamBlock
from streamviz.core.context import StreamingContext
from streamviz.core.events import BlockKind
from streamviz.core.json_value import JsonObject, encode
from streamviz.core.judgements import ChainContext, InParts, ModelSaid, PersonDecided, Subject, Unanswered
from streamviz.core.policy import ActivePolicy, Consult, Edit, Policy, Reading, Tail
from streamviz.core.policy_settings import BlockScope, ByHand
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.core.wire.openai_chat_body_composer import OpenAIChatBodyComposer
from streamviz.policies import build
from tests.core.sdk import Reader
from tests.core.support import HEAD, Opinion, Run, active, call, calls, chunks, delta, deny_names, told

DENY = Verdict(Decision.DENY, "scored", "[no]")


class Judge(Policy):
    """Asks a model about each tool call; the answer `deny` denies."""

    def __init__(self, kinds: tuple[BlockKind, ...] = (BlockKind.TOOL_CALL,)) -> None:
        self._kinds = kinds
        self.asked: list[str] = []

    def holds(self, block: StreamBlock) -> bool:
        return block.kind in self._kinds

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Consult | None:
        if block.kind not in self._kinds:
            return None
        self.asked.append(block.text)
        return Consult("judge", "judge it", block.text, read)


def read(answer: str) -> Any:
    match answer:
        case "deny":
            return DENY
        case "allow":
            return Verdict(Decision.ALLOW, "fine")
        case "halt":
            return Verdict(Decision.HALT, "stop", "[stop]")
        case _:
            raise ValueError(f"nonsense: {answer}")


def judge(name: str = "judge", **more: Any) -> ActivePolicy:
    return ActivePolicy(Judge(), name, 1, 1, more.pop("mode", Mode.ENFORCE), **more)


class Asked(Run):
    """A run whose questions the test answers."""

    def answer(self, number: int, answer: str | Any) -> bytes:
        """Answer a question; returns what the client has so far."""
        said = ModelSaid(answer) if isinstance(answer, str) else answer
        self.chain.answer(number, said, self.processor.state, self.context)
        return self.tape

    @property
    def open(self) -> list[tuple[str, int | None]]:
        """Which policies ask, and about which blocks."""
        return [(question.policy.name, question.ordinal) for question in self.context.questions.values()]

    @property
    def verdicts(self) -> list[tuple[str, int | None, str]]:
        return [(each.policy.name, each.ordinal, each.verdict.decision.value) for each in self.context.judgements]


TWO = chunks(
    calls(call(0, "x", "ls", '{"a":1}')), calls(call(1, "y", "rm", '{"b":2}')), delta(finish="tool_calls"), "[DONE]"
)
BYTES = b"".join(chunk.raw for chunk in TWO)


async def test_judges_of_several_blocks_work_side_by_side_and_release_keeps_the_order() -> None:
    it = Asked([judge()])
    await it.finish(TWO)
    assert it.open == [("judge", 0), ("judge", 1)]
    assert it.answer(2, "allow") == b""
    assert it.answer(1, "allow") == BYTES
    assert it.verdicts == [("judge", 1, "allow"), ("judge", 0, "allow")]


async def test_three_slow_judges_of_one_block_are_asked_at_once_and_heard_in_order() -> None:
    it = Asked([judge("a"), judge("b"), judge("c")])
    await it.finish(TWO[:1])
    assert it.open == [("a", 0), ("b", 0), ("c", 0)]
    assert it.answer(3, "allow") == it.answer(2, "allow") == b""
    assert it.verdicts == []
    assert it.answer(1, "allow") == TWO[0].raw
    assert it.verdicts == [("a", 0, "allow"), ("b", 0, "allow"), ("c", 0, "allow")]
    took = [judgement.took for judgement in it.context.judgements]
    assert took[2] < took[1] < took[0]


async def test_how_long_one_waited_for_another_is_not_what_it_took() -> None:
    it = Asked([judge("slow"), active(deny_names("rm"), name="quick")])
    await it.finish(TWO[:1])
    for _ in range(20):
        it.context.now()  # the tests' clock advances each time it is read
    it.answer(1, "allow")
    slow, quick = (judgement.took for judgement in it.context.judgements)
    assert quick < 20 < slow


async def test_the_first_that_denies_ends_it_and_nobody_behind_it_is_waited_for() -> None:
    it = Asked([judge("a"), judge("b"), judge("c")])
    await it.finish(TWO[:1])
    it.answer(2, "deny")
    assert it.verdicts == []
    it.answer(1, "allow")
    assert it.verdicts == [("a", 0, "allow"), ("b", 0, "deny")]
    assert it.open == []
    assert told(it.client_state) == [("content", "[no]")]
    tape = it.tape
    assert it.answer(3, "allow") == tape


async def test_a_judge_behind_a_rule_that_denies_is_not_asked() -> None:
    second = judge("judge")
    it = Asked([active(deny_names("ls"), name="rule"), second])
    await it.finish(TWO[:1])
    assert it.open == []
    assert isinstance(second.policy, Judge)
    assert second.policy.asked == []


async def test_after_a_replacement_later_judges_are_asked_anew() -> None:
    def replace(block: StreamBlock) -> Verdict:
        return Verdict(Decision.REPLACE, "changed", '{"a":2}')

    late = judge("late")
    it = Asked([judge("early"), active(Opinion(replace), name="changes"), late])
    await it.finish(chunks(calls(call(0, "x", "ls", '{"a":1}')), delta(finish="tool_calls"), "[DONE]"))
    it.answer(1, "allow")
    assert isinstance(late.policy, Judge)
    assert late.policy.asked == ['{"a":1}', '{"a":2}']
    assert it.open == [("late", 0)]
    it.answer(it.context._number, "allow")
    assert Reader().stream(it.tape) == ({0: [("tool_call", "x", "ls", '{"a":2}')]}, {0: "tool_calls"})


async def test_a_halt_ends_the_stream_legally_in_its_place() -> None:
    it = Asked([judge()])
    stream = [*chunks(delta(content="first")), *TWO]
    await it.take(*stream)
    it.answer(2, "halt")
    assert not it.context.is_terminated
    it.answer(1, "allow")
    assert it.context.is_terminated
    messages, reasons = Reader().stream(it.tape)
    assert messages == {0: [("content", "first[stop]"), ("tool_call", "x", "ls", '{"a":1}')]}
    assert reasons == {0: "content_filter"}
    assert it.tape.endswith(b"data: [DONE]\n\n")
    assert b'"rm"' not in it.tape


HALTS = build("text_rule", {"patterns": ["secret"], "action": "halt", "text": "[stop]"})


async def test_of_several_choices_the_one_that_is_halted_says_why() -> None:
    stream = [delta(content="well"), delta(1, content="a "), delta(finish="stop"), delta(1, content="secret")]
    it = await Run([active(HALTS)]).finish(chunks(*stream, delta(1, finish="stop"), "[DONE]"))
    messages, reasons = Reader().stream(it.tape)
    assert messages == {0: [("content", "well")], 1: [("content", "a [stop]")]}
    assert reasons == {0: "stop", 1: "content_filter"}


async def test_of_a_whole_answers_choices_the_one_that_is_halted_says_why() -> None:
    said = enumerate(["well", "a secret"])
    choices = [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for at, text in said
    ]
    body: JsonObject = {**HEAD, "object": "chat.completion", "choices": choices}
    raw = encode(body)
    it = await Run([active(HALTS)], OpenAIChatBodyComposer(body)).finish([Chunk(0, 0, raw, raw)])
    told = Reader().body(it.tape).choices
    assert [(each.message.content, each.finish_reason) for each in told] == [
        ("well", "stop"),
        ("a [stop]", "content_filter"),
    ]


async def test_what_has_ended_cannot_be_halted_any_more() -> None:
    class Late(Judge):
        def holds(self, block: StreamBlock) -> bool:
            return False

    it = Asked([ActivePolicy(Late(), "late", 1, 1, Mode.ENFORCE)])
    await it.finish(TWO)
    assert it.tape == BYTES
    assert it.answer(1, "halt") == BYTES
    assert it.answer(2, "deny") == BYTES
    assert [each.client_had for each in it.context.judgements] == [7, 7]


async def test_a_shadow_judge_is_asked_and_never_waited_for() -> None:
    it = Asked([judge("shadow", mode=Mode.SHADOW), active(deny_names("rm"), name="rule")])
    await it.finish(TWO)
    assert [question.is_awaited for question in it.context.questions.values()] == [False, False]
    assert b'"ls"' in it.tape
    assert b'"rm"' not in it.tape
    tape = it.tape
    assert it.answer(1, "deny") == it.answer(2, "deny") == tape
    assert it.verdicts == [("rule", 0, "allow"), ("rule", 1, "deny"), ("shadow", 0, "deny"), ("shadow", 1, "deny")]


FAILURES = {
    "error": (Unanswered("the model could not be asked: 500"), "TimeoutError: the model could not be asked: 500"),
    "timeout": (Unanswered("no answer within 5 s"), "TimeoutError: no answer within 5 s"),
    "nonsense": (ModelSaid("maybe?"), "ValueError: nonsense: maybe?"),
}


@pytest.mark.parametrize(("answer", "failure"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("fail_open", [False, True], ids=["fail closed", "fail open"])
async def test_a_judge_that_fails_denies_or_allows_as_its_fail_mode_says(
    answer: Any, failure: str, fail_open: bool
) -> None:
    it = Asked([judge(fail_open=fail_open)])
    await it.finish(TWO)
    it.answer(1, answer)
    tape = it.answer(2, answer)
    for judgement in it.context.judgements:
        assert judgement.failure == failure
        assert judgement.verdict.decision is (Decision.ALLOW if fail_open else Decision.DENY)
    assert (tape == BYTES) is fail_open
    if not fail_open:
        assert Reader().stream(tape)[1] == {0: "stop"}


class LongJudge(Judge):
    """Asks a question in three parts."""

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> Consult | None:
        part = Consult("judge", "judge it", block.text, read)
        return Consult("judge", "judge it", block.text, read, (part, part))


NO_ANSWER = Unanswered("no answer within 5 s")


@pytest.mark.parametrize("fail_open", [False, True], ids=["fail closed", "fail open"])
@pytest.mark.parametrize(
    ("answers", "decision", "failure"),
    [
        (["allow", "allow", "allow"], "allow", ""),
        (["allow", "allow", "deny"], "deny", ""),
        ([NO_ANSWER, "nonsense", "deny"], "deny", ""),
        (["allow", NO_ANSWER, "allow"], None, "TimeoutError: no answer within 5 s"),
        (["allow", "allow", "maybe?"], None, "ValueError: nonsense: maybe?"),
    ],
)
async def test_of_several_parts_the_first_that_is_not_allowed_counts(
    answers: list[Any], decision: str | None, failure: str, fail_open: bool
) -> None:
    it = Asked([ActivePolicy(LongJudge(), "judge", 1, 1, Mode.ENFORCE, fail_open=fail_open)])
    await it.finish(TWO)
    said = InParts(tuple(ModelSaid(each) if isinstance(each, str) else each for each in answers))
    it.answer(1, said)
    judgement = it.context.judgements[0]
    assert judgement.failure == failure
    assert judgement.verdict.decision == (decision or ("allow" if fail_open else "deny"))


# By hand


def by_hand(otherwise: Decision) -> ActivePolicy:
    return active_by_hand(deny_names("rm"), otherwise)


def active_by_hand(policy: Policy, otherwise: Decision) -> ActivePolicy:
    return ActivePolicy(policy, "rule", 1, 1, Mode.ENFORCE, by_hand=ByHand(60, otherwise))


async def held() -> Asked:
    it = Asked([by_hand(Decision.DENY)])
    await it.finish(TWO)
    assert it.tape == TWO[0].raw
    return it


async def test_a_person_is_asked_about_what_the_policy_would_deny() -> None:
    it = await held()
    [question] = it.context.questions.values()
    assert (question.ordinal, question.consult, question.seconds) == (1, None, 60)
    hold = it.context.holds[1]
    assert (hold.asks, hold.reason, hold.released_at) == (question.number, "listed", None)
    assert (hold.until, hold.otherwise) == (question.asked_at + 60_000_000, Decision.DENY)


async def test_who_decided_is_on_the_verdict() -> None:
    it = await held()
    assert it.answer(1, PersonDecided(Decision.ALLOW, "alice")) == BYTES
    last = it.context.judgements[-1]
    assert (last.by, last.verdict.decision) == ("alice", Decision.ALLOW)
    assert last.verdict.reason == "alice allowed it. The policy said: listed"
    assert it.context.holds[1].asks is None

    it = await held()
    it.answer(1, PersonDecided(Decision.DENY, "bob"))
    last = it.context.judgements[-1]
    assert (last.by, last.verdict.decision, last.verdict.text) == ("bob", Decision.DENY, "[not allowed]")
    assert b'"rm"' not in it.tape


async def test_a_judge_who_answers_meanwhile_takes_nothing_from_the_person() -> None:
    it = Asked([by_hand(Decision.DENY), judge()])
    await it.finish(TWO)
    assert it.answer(1, "allow") == it.answer(2, "allow") == TWO[0].raw
    hold = it.context.holds[1]
    assert (hold.asks, hold.asked_by) == (3, "rule")
    assert it.answer(3, PersonDecided(Decision.ALLOW, "alice")) == BYTES


@pytest.mark.parametrize("otherwise", [Decision.DENY, Decision.ALLOW])
async def test_where_nobody_answers_it_is_as_the_policy_says(otherwise: Decision) -> None:
    it = Asked([by_hand(otherwise)])
    await it.finish(TWO)
    tape = it.answer(1, Unanswered("no answer within 60 s"))
    last = it.context.judgements[-1]
    assert (last.by, last.verdict.decision, last.failure) == ("", otherwise, "no answer within 60 s")
    assert last.is_unanswered
    assert (tape == BYTES) is (otherwise is Decision.ALLOW)


async def test_a_person_has_the_last_word_on_a_judge_too() -> None:
    it = Asked([active_by_hand(Judge(), Decision.DENY)])
    await it.finish(TWO[:1])
    it.answer(1, "deny")
    assert it.context.judgements == []
    assert it.answer(2, PersonDecided(Decision.ALLOW, "alice")) == TWO[0].raw


# Scopes


def scoped(**scope: Any) -> ActivePolicy:
    return ActivePolicy(
        Opinion(lambda block: DENY, list(BlockKind)), "rule", 1, 1, Mode.ENFORCE, scope=BlockScope(**scope)
    )


@pytest.mark.parametrize(
    ("scope", "denied"),
    [
        ({}, [0, 1, 2]),
        ({"kinds": frozenset({BlockKind.TOOL_CALL})}, [1, 2]),
        ({"tools": ("r*",)}, [0, 2]),
        ({"tools": ("r*",), "kinds": frozenset({BlockKind.TOOL_CALL})}, [2]),
        ({"kinds": frozenset({BlockKind.THINKING})}, []),
    ],
)
async def test_a_scope_says_which_blocks_a_policy_judges(scope: Any, denied: list[int]) -> None:
    it = await Run([scoped(**scope)]).finish([*chunks(delta(content="text")), *TWO])
    assert [judgement.ordinal for judgement in it.context.judgements] == denied
    assert sorted(it.context.holds) == denied


async def test_a_call_whose_name_comes_late_is_held_until_it_is_known() -> None:
    late = chunks(calls(call(0, "x", None, "{")), calls(call(0, None, "rm", "}")), delta(finish="tool_calls"))
    it = Run([scoped(tools=("r*",))])
    assert await it.take(*late[:2]) == b""
    await it.finish(late[2:])
    assert [judgement.verdict.decision for judgement in it.context.judgements] == [Decision.DENY]


# Streams and requests


async def test_a_policy_can_judge_a_whole_stream_for_the_record() -> None:
    class AtTheEnd(Policy):
        def on_finish(self, state: StreamState, context: StreamingContext) -> Verdict:
            return Verdict(Decision.DENY, f"{len(state.blocks)} blocks")

    class Broken(Policy):
        def on_finish(self, state: StreamState, context: StreamingContext) -> Verdict:
            raise RuntimeError("it broke")

    it = await Run([active(AtTheEnd({})), active(Broken({}))]).finish(TWO)
    assert it.tape == BYTES
    first, second = it.context.judgements
    assert (first.subject, first.ordinal, first.verdict.reason) == (Subject.STREAM, None, "2 blocks")
    assert second.failure == "RuntimeError: it broke"


class OnRequest(Policy):
    def __init__(self, decide: Callable[[ModelCall], Verdict | Consult | None]) -> None:
        self._decide = decide

    def on_request(self, request: ModelCall, context: StreamingContext) -> Verdict | Consult | None:
        return self._decide(request)


def requests(*decide: Callable[[ModelCall], Verdict | Consult | None]) -> tuple[RequestJudging, ChainContext]:
    context = Run([]).context
    policies = [active(OnRequest(each), name=f"rule-{number}") for number, each in enumerate(decide)]
    return RequestJudging(policies, ModelCall("openai_chat", {"model": "m"}), context), context


def to(model: str) -> Callable[[ModelCall], Verdict]:
    return lambda request: Verdict(Decision.REPLACE, request=dict(request.fields, model=model))


def test_a_request_is_replaced_and_later_policies_see_what_it_became() -> None:
    seen: list[str] = []

    def look(request: ModelCall) -> Verdict | None:
        seen.append(request.model)
        return None

    judging, context = requests(to("b"), look, to("c"))
    assert judging.is_settled
    assert judging.denied is None
    assert (judging.call.model, seen[-1]) == ("c", "b")
    assert [(each.subject, each.ordinal) for each in context.judgements] == [(Subject.REQUEST, None)] * 2


def test_a_request_is_denied_by_the_first_that_denies() -> None:
    judging, context = requests(to("b"), lambda request: DENY, to("c"))
    assert judging.denied is not None
    assert judging.denied[0].name == "rule-1"
    assert len(context.judgements) == 2


def test_a_request_waits_for_a_judge() -> None:
    judging, context = requests(lambda request: Consult("judge", "", "", read), to("b"))
    assert not judging.is_settled
    [question] = context.questions.values()
    assert (question.ordinal, question.is_awaited) == (None, True)
    judging.answer(question.number, ModelSaid("allow"))
    assert judging.is_settled
    assert judging.call.model == "b"


def test_a_context_keeps_what_a_policy_remembers_of_one_stream() -> None:
    policy, one, other = Policy({}), Run([]).context, Run([]).context
    one.memory_of(policy)["seen"] = 1
    assert one.memory_of(policy) == {"seen": 1}
    assert other.memory_of(policy) == {}


def test_a_tool_calls_scope_is_of_names() -> None:
    block = ToolCallStreamBlock(0, "x", name="rm")
    assert BlockScope(tools=("ls", "r?")).applies(block)
    assert not BlockScope(tools=("ls",)).may_apply(block)


# Policies that do worse than raise


class Gone(BaseException):
    """Not caught by `except Exception`, like a panic in a Rust library."""


class Exits(Policy):
    """Raises an error in one of its hooks."""

    def __init__(self, hook: str, error: BaseException) -> None:
        self._hook, self._error = hook, error

    def _say(self, hook: str) -> None:
        if hook == self._hook:
            raise self._error

    def on_request(self, request: ModelCall, context: StreamingContext) -> None:
        self._say("on_request")

    def holds(self, block: StreamBlock) -> bool:
        self._say("holds")
        return False

    def watches(self, block: StreamBlock) -> bool:
        self._say("watches")
        return block.kind is BlockKind.CONTENT

    def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
        self._say("on_delta")
        return Reading(len(tail.text))

    def on_held(self, block: StreamBlock, context: StreamingContext) -> None:
        self._say("on_held")

    def on_block_complete(self, block: StreamBlock, context: StreamingContext) -> None:
        self._say("on_block_complete")

    def on_finish(self, state: StreamState, context: StreamingContext) -> None:
        self._say("on_finish")


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit(), Gone("panic")], ids=repr)
@pytest.mark.parametrize("hook", ["watches", "on_delta", "on_held", "on_block_complete", "on_finish"])
async def test_a_policy_that_exits_has_failed_and_nothing_else_has(hook: str, error: BaseException) -> None:
    open_one = active(Exits(hook, error), fail_open=True)
    it = await Run([open_one, active(deny_names("none"))]).finish([*chunks(delta(content="text")), *TWO])
    assert told(it.client_state)[0] == ("content", "text")
    failures = {judgement.failure for judgement in it.context.judgements if judgement.failure}
    assert failures == {f"{type(error).__name__}: {error}"}


async def test_a_policy_that_exits_where_it_is_asked_whether_it_holds_holds() -> None:
    it = await Run([active(Exits("holds", SystemExit()))]).finish(TWO)
    assert sorted(it.context.holds) == [0, 1]


def test_a_policy_that_exits_over_a_request_denies_it() -> None:
    context = Run([]).context
    judging = RequestJudging([active(Exits("on_request", SystemExit()))], ModelCall("openai_chat", {}), context)
    assert judging.denied is not None
    assert context.judgements[0].failure == "SystemExit: "


@pytest.mark.parametrize("hook", ["on_block_complete", "on_delta"])
async def test_a_hook_that_took_longer_than_it_may_has_failed(hook: str) -> None:
    now = 0

    class Slow(Exits):
        def _say(self, said: str) -> None:
            nonlocal now
            now += 6_000_000 if said == hook else 0

    it = Run([ActivePolicy(Slow(hook, Gone()), "slow", 1, 1, Mode.ENFORCE, time_limit=5)])
    it.context.now = lambda: now
    await it.finish([*chunks(delta(content="text")), *TWO])
    failed = [judgement for judgement in it.context.judgements if judgement.failure]
    assert failed[0].failure == "TimeoutError: it took 6.0 s, longer than 5 s"
    assert failed[0].verdict.decision in (Decision.DENY, Decision.HALT)


@pytest.mark.parametrize(
    "said",
    [None, "text", Reading(9, (Edit(2, 1, "", ""),)), Reading(9, (Edit(1, 3, "", ""), Edit(2, 4, "", ""))),
     Reading(2, (Edit(1, 3, "", ""),)), Reading(9, (Edit(-5, 1, "", ""),))],
)  # fmt: skip
async def test_a_reading_that_makes_no_sense_is_a_failure(said: Any) -> None:
    class Odd(Exits):
        def on_delta(self, block: StreamBlock, tail: Tail, context: StreamingContext) -> Reading:
            return said

    it = await Run([active(Odd("", Gone()))]).finish(chunks(delta(content="some text"), delta(finish="stop"), "[DONE]"))
    assert b"some" not in it.tape
    assert it.context.judgements[0].failure.split(":")[0] in ("TypeError", "ValueError")
    assert it.context.halted_by == "rule"


async def test_a_hold_tells_how_long_a_judge_has_at_most() -> None:
    it = Asked([judge("a", time_limit=10.0), judge("b", time_limit=20.0)])
    await it.finish(TWO[:1])
    first, second = it.context.questions.values()
    hold = it.context.holds[0]
    assert hold.until == second.asked_at + 20_000_000
    it.answer(2, "allow")
    assert hold.until == first.asked_at + 10_000_000
    it.answer(1, "allow")
    assert hold.asks is None
    assert hold.until is None
