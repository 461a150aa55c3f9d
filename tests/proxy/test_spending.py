"""The cost and tokens of a stream: as reported by the provider, or an estimate marked as such, or unknown."""

from typing import Any

import pytest

from streamviz.core.tokens import Tokens
from streamviz.exchange.life import Event
from streamviz.proxy import limiting
from streamviz.proxy.spending import add_up, most_of, spent_by
from streamviz.proxy.worker import Worker
from streamviz.records.tallies import Amounts
from tests.core.support import delta
from tests.live.support import Running

WORDS = "The harvest is in, and the wine is not bad at all. "


def running(text: str = "How are you?", **fields: object) -> Running:
    messages = [{"role": "user", "content": text}]
    return Running(upstream_model="gpt-4o", provider="openai", fields={"messages": messages, **fields})


async def test_what_the_provider_told_is_taken() -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 600}}
    it = running()
    await it.take(delta(content=WORDS), {**delta(finish="stop"), "usage": usage, "service_tier": "priority"})
    add_up(it.stream)
    assert it.stream.tokens == Tokens(1_000, 10, cache_read=600, tier="priority")
    assert it.stream.cost == pytest.approx(400 * 4.25e-6 + 600 * 2.125e-6 + 10 * 1.7e-5)
    spent = spent_by(it.stream)
    assert (spent.output_tokens, spent.cost, spent.is_estimate) == (10, it.stream.cost, False)


async def test_what_nobody_told_is_estimated_and_marked() -> None:
    it = await running(WORDS * 10).take(delta(content=WORDS * 100), delta(finish="stop"))
    add_up(it.stream)
    tokens = it.stream.tokens
    assert tokens is not None
    assert tokens.is_estimated
    assert tokens.input == pytest.approx(130, rel=0.1)
    assert tokens.output == pytest.approx(1_300, rel=0.1)
    assert it.stream.cost is not None
    assert spent_by(it.stream).is_estimate


async def test_what_was_told_before_the_end_is_no_more_than_a_beginning() -> None:
    usage = {"prompt_tokens": 77, "completion_tokens": 1}
    it = await running().take({**delta(content=WORDS * 100), "usage": usage})
    add_up(it.stream)
    tokens = it.stream.tokens
    assert tokens is not None
    assert (tokens.input, tokens.is_estimated) == (77, True)
    assert tokens.output == pytest.approx(1_300, rel=0.1)


async def test_an_input_of_nothing_is_no_count() -> None:
    usage = {"prompt_tokens": 0, "completion_tokens": 0}
    it = await running(WORDS).take({**delta(content=WORDS), "usage": usage})
    add_up(it.stream)
    assert it.stream.tokens is not None
    assert it.stream.tokens.is_estimated
    assert it.stream.tokens.input == pytest.approx(13, rel=0.2)


async def test_an_output_of_nothing_beside_text_is_no_count() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 0}
    it = await running().take(delta(content=WORDS * 100), {**delta(finish="stop"), "usage": usage})
    add_up(it.stream)
    assert it.stream.tokens is not None
    assert (it.stream.tokens.input, it.stream.tokens.is_estimated) == (7, True)
    assert it.stream.tokens.output == pytest.approx(1_300, rel=0.1)


async def test_what_never_began_is_unknown_and_not_zero() -> None:
    it = running()
    add_up(it.stream)
    assert (it.stream.tokens, it.stream.cost) == (Tokens(), None)
    assert spent_by(it.stream).unpriced == 0


async def test_tools_count_and_pictures_do_not() -> None:
    async def asked(*parts: dict[str, Any], **fields: object) -> int:
        it = running(**fields)
        it.stream.context.request.fields["messages"] = [{"role": "user", "content": [*parts]}]
        await it.take(delta(content="a"), delta(finish="stop"))
        add_up(it.stream)
        assert it.stream.tokens is not None
        return it.stream.tokens.input or 0

    text = {"type": "text", "text": WORDS}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 10_000}}
    tool = {"type": "function", "function": {"name": "search", "description": WORDS * 20}}
    assert await asked(text, picture) == await asked(text)
    assert await asked(text, tools=[tool]) > 200 + await asked(text)


async def test_a_run_reserves_nothing_since_each_of_its_calls_does() -> None:
    running = await Running().say("a")
    running.stream.context.request.fields["max_tokens"] = 500
    assert most_of(running.stream).output_tokens == 500
    running.stream.calls_model = False
    assert most_of(running.stream) == Amounts(0, 0.0)


async def test_a_run_has_no_cost_and_so_none_that_is_not_known() -> None:
    running = await Running().say("a")
    running.stream.calls_model = False
    add_up(running.stream)
    assert (running.stream.tokens, running.stream.cost) == (Tokens(0, 0), None)
    spent = spent_by(running.stream)
    assert (spent.streams, spent.output_tokens, spent.cost, spent.unpriced) == (1, 0, 0.0, 0)


@pytest.mark.parametrize("calls_model", [True, False], ids=["call", "run"])
async def test_what_was_denied_has_no_count_of_tokens_and_what_was_cancelled_later_has_one(calls_model: bool) -> None:
    denied, cancelled = running(), running()
    denied.stream.life.step(Event.DENIED)
    cancelled.stream.life.step(Event.FORWARDED)
    cancelled.stream.life.step(Event.CANCELLED)
    for it in (denied, cancelled):
        it.stream.calls_model = calls_model
        add_up(it.stream)
    assert denied.stream.tokens == Tokens()
    assert cancelled.stream.tokens is not None
    assert cancelled.stream.tokens.output == 0


async def test_what_is_sent_again_from_the_record_reserves_and_costs_nothing() -> None:
    it = await Running(provider="replay", fields={"max_tokens": 500}).say("a")
    assert most_of(it.stream) == Amounts(0, 0.0)
    add_up(it.stream)
    spent = spent_by(it.stream)
    assert (spent.streams, spent.output_tokens, spent.cost, spent.unpriced) == (1, 0, 0.0, 0)


async def test_who_leaves_before_the_answer_has_asked_for_it_all_the_same() -> None:
    it = running(WORDS * 100)
    it.stream.life.step(Event.FORWARDED)
    it.stream.life.step(Event.LEFT)
    add_up(it.stream)
    assert it.stream.tokens is not None
    assert it.stream.tokens.input == pytest.approx(1_300, rel=0.1)
    assert it.stream.tokens.is_estimated
    spent = spent_by(it.stream)
    assert spent.cost == it.stream.cost == pytest.approx(1_300 * 2.5e-6, rel=0.1)
    assert spent.is_estimate


@pytest.mark.parametrize(("events", "streams"), [([Event.FORWARDED, Event.CANCELLED], 1), ([Event.DENIED], 0)])
async def test_what_a_person_cancels_before_the_answer_is_a_stream_and_what_is_denied_is_none(
    events: list[Event], streams: int
) -> None:
    it, worker = running(), Worker()
    for event in (*events, Event.SENT):
        it.stream.life.step(event)
    add_up(it.stream)
    limiting.count(worker, it.stream)
    assert worker.sessions.counts(it.stream.session_id, it.stream.requested_at).streams == streams


async def test_what_a_provider_refuses_takes_nothing() -> None:
    it = running(WORDS * 100)
    it.stream.life.step(Event.FORWARDED)
    it.stream.life.step(Event.FAILED)
    it.stream.life.step(Event.SENT)
    add_up(it.stream)
    assert it.stream.tokens == Tokens()
