"""limits: a stream halts where it goes beyond, and a session gets no more."""

import pytest

from streamviz.core.context import SessionCounts
from streamviz.core.policy import Decision, Verdict
from streamviz.core.request import ModelCall
from streamviz.policies import build
from tests.core.sdk import Reader
from tests.core.support import Run, active, call, calls, chunks, delta
from tests.policies.support import context


async def run(stream: dict[str, float], *payloads: object) -> Run:
    it = Run([active(build("limits", {"stream": stream, "text": "[enough]"}))])
    it.context.price = lambda tokens: tokens * 0.001
    return await it.finish(chunks(*payloads, delta(finish="stop"), "[DONE]"))


async def test_too_many_tool_calls_halt_the_stream_before_the_one_too_many() -> None:
    it = await run({"tool_calls": 1}, calls(call(0, "a", "f", "{}")), calls(call(1, "b", "g", "{}")))
    messages, reasons = Reader().stream(it.tape)
    assert messages == {0: [("content", "[enough]"), ("tool_call", "a", "f", "{}")]}
    assert reasons == {0: "content_filter"}
    assert b'"g"' not in it.tape
    halted = it.context.judgements[-1]
    assert halted.verdict.decision is Decision.HALT
    assert halted.verdict.evidence == {"limit": "tool_calls", "most": 1, "reached": 2}


@pytest.mark.parametrize(
    ("limit", "words"),
    [({"output_tokens": 5}, "10 output tokens, as estimated"), ({"cost": 0.005}, "0.01 cost, as estimated"),
     ({"blocks": 1}, "2 blocks")],
)  # fmt: skip
async def test_a_text_that_goes_beyond_is_cut_where_it_does(limit: dict[str, float], words: str) -> None:
    it = await run(limit, delta(reasoning_content="short"), delta(content="x" * 35), delta(content="more"))
    assert b"more" not in it.tape
    assert it.tape.endswith(b"data: [DONE]\n\n")
    assert words in it.context.judgements[-1].verdict.reason


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
