"""limits: a stream halts where it exceeds a limit, and a session gets no more calls."""

from typing import Any

import pytest

from streamviz.core.blocks import StreamBlock
from streamviz.core.context import SessionCounts
from streamviz.core.request import ModelCall
from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Decision, Mode, Verdict
from streamviz.policies import build
from tests.core.sdk import Reader
from tests.core.support import Opinion, Run, active, call, calls, chunks, delta
from tests.policies.support import context


def price(tokens: Tokens) -> float:
    assert tokens.input is not None
    assert tokens.output is not None
    return tokens.input * 0.0001 + tokens.output * 0.001


async def run(stream: dict[str, float], *payloads: object) -> Run:
    it = Run([active(build("limits", {"stream": stream, "text": "[enough]"}))])
    it.context.price = price
    return await it.finish(chunks(*payloads, delta(finish="stop"), "[DONE]"))


async def test_too_many_tool_calls_halt_the_stream_before_the_one_too_many() -> None:
    it = await run({"tool_calls": 1}, calls(call(0, "a", "f", "{}")), calls(call(1, "b", "g", "{}")))
    messages, reasons = Reader().stream(it.tape)
    assert messages == {0: [("content", "[enough]"), ("tool_call", "a", "f", "{}")]}
    assert reasons == {0: "content_filter"}
    assert b'"g"' not in it.tape
    [halted] = [each for each in it.context.judgements if each.verdict.decision is Decision.HALT]
    assert halted.verdict.evidence == {"limit": "tool_calls", "most": 1, "reached": 2}


@pytest.mark.parametrize("limit", [{"output_tokens": 100}, {"cost": 0.1}])
async def test_tokens_told_with_the_end_of_one_choice_do_not_count_what_another_goes_on_to_say(
    limit: dict[str, float],
) -> None:
    usage = {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}
    first = delta(finish="stop") | usage
    it = await run(limit, delta(content="a"), first, *(delta(1, content="word " * 20) for _ in range(20)))
    assert it.context.halted_by == "rule"
    assert it.tape.count(b"word") < 200


@pytest.mark.parametrize(
    ("limit", "words"),
    [({"output_tokens": 5}, "30 output tokens, as estimated"), ({"cost": 0.005}, "0.03 cost, as estimated"),
     ({"blocks": 1}, "2 blocks")],
)  # fmt: skip
async def test_a_text_that_goes_beyond_is_cut_where_it_does(limit: dict[str, float], words: str) -> None:
    it = await run(limit, delta(reasoning_content="short"), delta(content="x" * 115), delta(content="more"))
    assert b"more" not in it.tape
    assert it.tape.endswith(b"data: [DONE]\n\n")
    [halted] = [each.verdict for each in it.context.judgements if each.verdict.decision is Decision.HALT]
    assert words in halted.reason


async def test_blocks_that_never_grow_are_counted_too() -> None:
    it = await run({"blocks": 2}, *(calls(call(n, f"c{n}", f"f{n}", "")) for n in range(20)))
    assert it.context.halted_by == "rule"
    assert b'"f5"' not in it.tape


async def test_a_stream_within_its_limits_is_untouched() -> None:
    payloads = [delta(content="a"), calls(call(0, "a", "f", "{}"))]
    limits = {"tool_calls": 1, "blocks": 2, "output_tokens": 100, "seconds": 60}
    it = await run(limits, *payloads)
    assert it.tape == b"".join(chunk.raw for chunk in chunks(*payloads, delta(finish="stop"), "[DONE]"))


async def test_it_halts_a_stream_that_takes_too_long() -> None:
    it = Run([active(build("limits", {"stream": {"seconds": 10}}))])
    it.context.began_at = 1
    now = 5_000_000
    it.context.now = lambda: now
    stream = chunks(delta(content="a"), delta(content="b"))
    assert await it.take(stream[0]) == stream[0].raw
    now = 12_000_000
    await it.take(stream[1])
    assert it.context.halted_by == "rule"


@pytest.mark.parametrize(
    ("session", "is_denied"),
    [({"streams": 3}, True), ({"streams": 4}, False), ({"cost": 0.5}, True), ({"output_tokens": 1000}, False),
     ({"tool_calls": 2}, True), ({"blocks": 99}, False)],
)  # fmt: skip
def test_a_session_beyond_its_limit_gets_no_more(session: dict[str, float], is_denied: bool) -> None:
    counts = SessionCounts(streams=3, blocks=9, tool_calls=2, output_tokens=900, cost=0.5)
    policy = build("limits", {"session": session})
    verdict = policy.on_request(ModelCall(), context(session=counts))
    assert isinstance(verdict, Verdict)
    assert verdict.decision is (Decision.DENY if is_denied else Decision.ALLOW)


_LONG = "x" * 4_000


@pytest.mark.parametrize(
    ("format", "fields"),
    [
        ("openai_chat", {"messages": [{"role": "user", "content": _LONG}]}),
        ("anthropic_messages", {"messages": [{"content": [{"type": "tool_use", "input": {"id": _LONG}}]}]}),
        ("openai_responses", {"input": "", "prompt": {"id": "p", "variables": {"of": _LONG}}}),
    ],
)
async def test_what_was_asked_counts_towards_the_cost(format: str, fields: dict[str, Any]) -> None:
    it = Run([active(build("limits", {"stream": {"cost": 0.01}}))])
    it.context.request = ModelCall(format, fields)
    it.context.price = price
    await it.finish(chunks(delta(content="a"), delta(finish="stop"), "[DONE]"))
    assert it.context.judgements[-1].verdict.evidence["reached"] == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("fail_open", [False, True])
async def test_a_cost_that_nobody_knows_is_no_cost_of_nothing(fail_open: bool) -> None:
    it = Run([active(build("limits", {"stream": {"cost": 5}}), fail_open=fail_open)])
    await it.finish(chunks(delta(content="a"), delta(finish="stop"), "[DONE]"))
    assert it.context.judgements[-1].failure == "ValueError: what the model costs is not known"
    assert (it.context.halted_by == "") is fail_open


async def test_tokens_that_are_told_before_the_end_are_not_the_last_word() -> None:
    it = Run([active(build("limits", {"stream": {"output_tokens": 5}}))])
    begun = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    await it.finish(chunks({**delta(content="x" * 35), **begun}, delta(content="more"), delta(finish="stop")))
    assert b"more" not in it.tape
    assert "8 output tokens, as estimated" in it.context.judgements[-1].verdict.reason


HOLDER = active(Opinion(lambda block: Verdict(Decision.ALLOW)), name="holder")


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
async def test_a_held_call_that_never_ends_is_halted_all_the_same(order: slice) -> None:
    it = Run([HOLDER, active(build("limits", {"stream": {"output_tokens": 10}, "text": "[enough]"}))][order])
    first, *rest = chunks(
        delta(content="before"), calls(call(0, "a", "f", "{")), *[calls(call(0, arguments="x" * 9))] * 9
    )
    await it.take(first, *rest)
    assert it.context.is_terminated
    assert Reader().stream(it.tape) == ({0: [("content", "before[enough]")]}, {0: "content_filter"})
    [halted] = [each for each in it.context.judgements if each.verdict.decision is Decision.HALT]
    assert (halted.policy.name, halted.ordinal, halted.client_had) == ("rule", 1, 0)
    assert it.context.holds[1].is_denied


async def test_a_shadow_bounds_nothing_and_says_once_what_it_would_have_done() -> None:
    shadow = active(build("limits", {"stream": {"output_tokens": 10}}), Mode.SHADOW, name="shadow")
    stream = chunks(calls(call(0, "a", "f", "{")), *[calls(call(0, arguments="x" * 9))] * 9, delta(finish="tool_calls"))
    it = await Run([HOLDER, shadow]).finish(stream)
    assert it.tape == b"".join(chunk.raw for chunk in stream)
    assert [each.policy.name for each in it.context.judgements if each.verdict.decision is Decision.HALT] == ["shadow"]


async def test_many_calls_are_counted_once_each() -> None:
    looked = 0

    class Counted(list[StreamBlock]):
        def __getitem__(self, at: Any) -> Any:
            nonlocal looked
            found = super().__getitem__(at)
            looked += len(found) if isinstance(at, slice) else 0
            return found

    it = Run([active(build("limits", {"stream": {"tool_calls": 1_000}}))])
    it.processor.state.blocks = Counted()
    await it.finish(chunks(*(calls(call(number, f"id-{number}", "f", "{}")) for number in range(200))))
    assert looked == 200


def test_of_a_session_too_what_is_not_known_is_said() -> None:
    cost, tokens = (build("limits", {"session": {name: 5}}) for name in ("cost", "output_tokens"))
    with pytest.raises(ValueError, match="not known"):
        cost.on_request(ModelCall(), context(session=SessionCounts(cost=1, unpriced=1)))
    counted = SessionCounts(cost=6, unpriced=1, output_tokens=9, is_estimate=True)
    for policy, reached in ((cost, "6 cost"), (tokens, "9 output tokens")):
        verdict = policy.on_request(ModelCall(), context(session=counted))
        assert isinstance(verdict, Verdict)
        assert f"{reached}, as estimated" in verdict.reason


async def test_a_price_is_looked_up_once_for_some_tokens() -> None:
    asked: list[int | None] = []
    it = Run([active(build("limits", {"stream": {"cost": 5}}))])

    def price(tokens: Tokens) -> float:
        asked.append(tokens.output)
        return 0.0

    it.context.price = price
    await it.finish(chunks(*[delta(content="four")] * 100, delta(finish="stop"), "[DONE]"))
    assert asked == [1, 17, 33, 49, 65, 81, 97]


@pytest.mark.parametrize(
    ("limits", "counts", "reason"),
    [
        ({"streams": 3}, SessionCounts(streams=2, running=1), "The key is at 3 streams; the limit is 3 a month."),
        ({"cost": 5}, SessionCounts(cost=4, reserved_cost=2), "The key is at 6 cost; the limit is 5 a month."),
        ({"cost": 5}, SessionCounts(cost=4, reserved_cost=0.5), ""),
        ({"output_tokens": 9}, SessionCounts(output_tokens=9, is_estimate=True),
         "The key is at 9 output tokens, as estimated; the limit is 9 a month."),
        ({"cost": 5}, SessionCounts(unbounded=1),
         "A running stream may use what the key has left of its cost; the limit is 5 a month."),
    ],
)  # fmt: skip
def test_a_key_gets_no_more_in_its_period(limits: dict[str, float], counts: SessionCounts, reason: str) -> None:
    policy = build("limits", {"key": limits, "key_period": "month"})
    asked = context()
    asked.of_key["month"] = counts
    verdict = policy.on_request(ModelCall(), asked)
    assert isinstance(verdict, Verdict)
    assert (verdict.decision is Decision.DENY, verdict.reason) == (bool(reason), reason)
    assert (policy.counts_key, policy.counts_session) == ("month", False)


@pytest.mark.parametrize(
    ("parameters", "judges"),
    [
        ({"key": {"streams": 3}}, True),
        ({"key": {"streams": 3, "cost": 1}}, False),
        ({"key": {"streams": 3}, "session": {"streams": 1}}, False),
        ({"stream": {"blocks": 3}}, False),
    ],
)
def test_of_what_nobody_reads_only_the_number_is_known(parameters: dict[str, Any], judges: bool) -> None:
    assert build("limits", parameters).judges_unread is judges


@pytest.mark.parametrize("name", ["background", "deferred"])
@pytest.mark.parametrize("limits", [{"key": {"cost": 5}}, {"session": {"output_tokens": 5}}, {"stream": {"blocks": 5}}])
def test_what_answers_later_and_elsewhere_is_denied_as_nobody_counts_it(limits: dict[str, Any], name: str) -> None:
    policy = build("limits", limits)
    verdict = policy.on_request(ModelCall("openai_responses", {name: True}), context())
    assert isinstance(verdict, Verdict)
    assert (verdict.decision, verdict.evidence) == (Decision.DENY, {"parameter": name})
    verdict = policy.on_request(ModelCall("openai_responses", {name: False}), context())
    assert verdict is None or verdict.decision is Decision.ALLOW


def test_where_calls_alone_are_counted_they_may_answer_later() -> None:
    policy = build("limits", {"key": {"streams": 5}})
    verdict = policy.on_request(ModelCall("openai_responses", {"background": True}), context())
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.ALLOW
