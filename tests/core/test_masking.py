"""What may be stored of blocks that policies mask."""

from typing import Any

import pytest

from streamviz.core.judgements import Answer, ChainContext, Judged, Unanswered
from streamviz.core.masking import mask_all, masked_text, masking
from streamviz.core.policy import ActivePolicy, TakesLong, Work
from streamviz.core.policy_settings import BlockScope
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.policies import build_short
from streamviz.policies.redact import Redact
from streamviz.policies.text_rule import TextRule
from tests.core.support import Run, aggregate, call, calls, chunks, delta

SECRET = "AKIAIOSFODNN7EXAMPLE"


def redact(mode: Mode = Mode.ENFORCE, scope: BlockScope | None = None, **parameters: Any) -> ActivePolicy:
    return ActivePolicy(Redact(parameters), "redact", 1, 1, mode, scope=scope or BlockScope())


@pytest.mark.parametrize(
    ("payload", "masked"),
    [
        (delta(content=f"It is {SECRET}."), "It is [api key removed]."),
        (calls(call(0, "c1", "save", f'{{"key": "{SECRET}"}}')), '{"key": "[api key removed]"}'),
        (delta(content="Nothing."), "Nothing."),
        (delta(reasoning_content=SECRET), SECRET),  # not in the kinds that it masks
    ],
    ids=["text", "arguments", "nothing", "elsewhere"],
)
def test_a_block_is_kept_as_the_policies_leave_it(payload: Any, masked: str) -> None:
    state = aggregate(payload, delta(finish="stop"))
    context = ChainContext("s", lambda: 0, state=state)
    assert masked_text(state.blocks[0], [redact()], context) == masked


def test_arguments_that_cannot_be_masked_are_not_kept() -> None:
    state = aggregate(calls(call(0, "c1", "save", '{"key": "\\u0041KIAIOSFODNN7EXAMPLE')), delta(finish="tool_calls"))
    assert masked_text(state.blocks[0], [redact()], ChainContext("s", lambda: 0, state=state)) == ""


def test_a_block_outside_the_scope_is_kept_as_it_is() -> None:
    state = aggregate(delta(content=SECRET), delta(finish="stop"))
    elsewhere = redact(scope=BlockScope(kinds=frozenset({"thinking"})))
    assert masked_text(state.blocks[0], [elsewhere], ChainContext("s", lambda: 0, state=state)) == SECRET


def test_only_what_is_in_force_and_masks_answers_counts() -> None:
    text_rule = ActivePolicy(TextRule({"patterns": ["a"]}), "text", 1, 1, Mode.ENFORCE)
    in_requests, in_force = redact(**{"in": ["request"]}), redact()
    assert masking([text_rule, in_requests, redact(Mode.SHADOW), in_force]) == [in_force]


async def test_a_secret_in_two_texts_is_not_kept_whole() -> None:
    pieces = ({"content": f"It is {SECRET[:12]}"}, {"reasoning_content": "Well."}, {"content": f"{SECRET[12:]}."})
    it = await Run([redact()]).finish(chunks(*(delta(**piece) for piece in pieces), delta(finish="stop")))

    async def judge(work: Work, seconds: float) -> Answer:
        raise AssertionError("all of it is short")

    await mask_all([redact()], it.context, judge)
    assert it.context.masked == {0: f"It is {SECRET[:12]}", 1: "Well.", 2: "[api key removed]."}


async def test_what_takes_long_is_masked_elsewhere() -> None:
    long = f"{SECRET} {'x' * 5_000}"
    state = aggregate(delta(content=long), calls(call(0, "c1", "save", f'{{"key": "{SECRET}"}}')), delta(finish="stop"))
    context = ChainContext("s", lambda: 0, state=state)
    redacting = ActivePolicy(build_short("redact", {}), "redact", 1, 1, Mode.ENFORCE)
    asked = []

    async def judge(work: Work, seconds: float) -> Answer:
        asked.append(work)
        return Judged(Verdict(Decision.REPLACE, text="[masked]"))

    with pytest.raises(TakesLong):
        masked_text(state.blocks[0], [redacting], context)
    await mask_all([redacting], context, judge)
    assert context.masked == {0: "[masked]", 1: '{"key": "[api key removed]"}'}
    assert [work.subject for work in asked] == [state.blocks[0]]


@pytest.mark.parametrize("answer", [Judged(None, "Died"), Unanswered("too long")])
async def test_of_what_nobody_could_mask_nothing_is_kept(answer: Answer) -> None:
    state = aggregate(delta(content="x" * 5_000), delta(finish="stop"))
    context = ChainContext("s", lambda: 0, state=state)

    async def judge(work: Work, seconds: float) -> Answer:
        return answer

    await mask_all([ActivePolicy(build_short("redact", {}), "redact", 1, 1, Mode.ENFORCE)], context, judge)
    assert context.masked == {0: ""}
