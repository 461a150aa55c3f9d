"""A run's calls are judged like any client's: its tools wait for people, and all of it ends when its client leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from streamviz.core.errors import UpstreamError
from streamviz.core.policy import ActivePolicy
from streamviz.core.policy_settings import ByHand
from streamviz.core.tokens import Tokens
from streamviz.core.verdicts import Decision, Mode
from streamviz.core.wire import ANTHROPIC_MESSAGES, EMBEDDINGS, OPENAI_CHAT, OPENAI_RESPONSES
from streamviz.core.wire_format import WireFormat
from streamviz.executors.registry import build as build_executor
from streamviz.policies import build
from streamviz.proxy import runs
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownRoute
from streamviz.records.moments import Clock
from streamviz.records.scoped_policies import ScopedPolicy
from streamviz.upstream.prices import price
from tests.executors.support import USAGE, plan, said
from tests.proxy.running import USES, Client, Model, decide, guard, held, over, thinking

# In µs.
SECOND = 1_000_000


async def test_a_denied_call_does_not_run_and_the_others_do(worker: Worker, answering: Callable[..., Model]) -> None:
    model = answering(said(USES), said(plan()), said("Done."))
    guard(worker)
    client = Client(worker)
    await client.call
    assert "wait(" not in thinking(client)
    assert 'count_words({"text": "a b"}): 2' in thinking(client)
    assert "denied by a policy" in json.dumps(model.requests[1]["messages"])
    streams = list(worker.observers.feed.finished.values())
    assert [stream.part for stream in streams] == ["plan 1", "tools 1", "plan 2", "answer", ""]
    assert {stream.place.parent for stream in streams[:-1]} == {streams[-1].id}
    assert {stream.session_id for stream in streams} == {streams[-1].session_id}


async def test_a_request_that_a_policy_sends_to_a_run_is_recorded_as_one(
    worker: Worker, answering: Callable[..., Model]
) -> None:
    answering(said(plan()), said("Done."))
    worker.configuration.routes["planner"] = KnownRoute(
        "openai/gpt-4o", "http://127.0.0.1:9/v1", "", build_executor("reasoning", {})
    )
    rule = ActivePolicy(build("request_rule", {"set": {"model": "planner"}}), "reroute", 1, 1, Mode.ENFORCE)
    worker.configuration.policies = (ScopedPolicy("reroute", 1, Mode.ENFORCE, ("sim/m",), (), rule),)
    client = Client(worker, **{"x-streamviz-executor": ""})
    await over(client, worker)
    run = list(worker.observers.feed.finished.values())[-1]
    assert (run.executor, run.calls_model, run.part) == ("reasoning", False, "")


@pytest.mark.parametrize("decision", [Decision.ALLOW, Decision.DENY])
async def test_a_person_decides_before_a_call_runs(
    worker: Worker, answering: Callable[..., Model], decision: Decision
) -> None:
    answering(said(USES), said(plan()), said("Done."))
    guard(worker, ByHand(3600, Decision.DENY))
    client = Client(worker)
    assert (await held(worker)).part == "tools 1"
    await decide(worker, decision)
    await client.call
    assert ("wait(" in thinking(client)) == (decision is Decision.ALLOW)


class Stubborn:
    """A source with a tool that runs until the test ends it, even if it is cancelled."""

    prefix = description = ""
    name = "wait"
    parameters: dict[str, object] = {}

    def __init__(self) -> None:
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        yield (self,)

    async def run(self, _: object) -> str:
        self.has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.may_end.wait()
        return "never"


async def begun(worker: Worker, part: str) -> None:
    """Wait until this call of the run has received something."""
    while not any(each.part == part and each.times.received_at for each in worker.observers.feed.running.values()):
        await asyncio.sleep(0)


# The model's answers, created by a function as an asyncio.Event belongs to one event loop, and what to wait for.
PHASES: dict[str, tuple[Callable[[], list[Any]], Callable[[Worker, Stubborn], Awaitable[object]]]] = {
    "plan 2": (
        lambda: [said(plan("continue_thinking")), [*said('{"tho')[:1], asyncio.Event()]],
        lambda worker, _: begun(worker, "plan 2"),
    ),
    "tools 1": (lambda: [said(USES)], lambda worker, _: held(worker)),
    "": (lambda: [said(USES)], lambda _, tool: tool.has_begun.wait()),
    "answer": (lambda: [said(plan()), [*said("Do")[:1], asyncio.Event()]], lambda worker, _: begun(worker, "answer")),
}


@pytest.mark.parametrize("part", list(PHASES))
async def test_a_client_that_leaves_ends_all_of_it_within_a_second(
    worker: Worker, answering: Callable[..., Model], monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    answers, until_then = PHASES[part]
    model, tool = answering(*answers()), Stubborn()
    monkeypatch.setattr(runs, "BuiltIn", lambda: tool)
    if part == "tools 1":
        guard(worker, ByHand(3600, Decision.DENY))
    client = Client(worker)
    await until_then(worker, tool)
    left_at = Clock().now()
    client.leave()
    await over(client, worker)
    streams = {stream.part: stream for stream in worker.observers.feed.finished.values()}
    assert all(stream.ended_at and stream.ended_at - left_at < SECOND for stream in streams.values())
    assert {streams[""].outcome, streams[part].outcome} == {"client_disconnected"}
    assert model.closed == len(model.requests)
    tool.may_end.set()


async def test_a_person_who_cancels_the_run_ends_its_calls(worker: Worker, answering: Callable[..., Model]) -> None:
    answering(said(plan("continue_thinking")), [asyncio.Event()])
    client = Client(worker)
    running = worker.observers.feed.running
    while not any(stream.part == "plan 2" for stream in running.values()):
        await asyncio.sleep(0)
    [run] = [stream for stream in running.values() if stream.executor]
    assert run.cancel is not None
    assert run.cancel("alice")
    await over(client, worker)
    assert b"cancelled" in client.data


@pytest.mark.parametrize("part", ["plan 2", "tools 1", "answer"])
async def test_a_person_who_cancels_a_call_of_a_run_ends_the_run(
    worker: Worker, answering: Callable[..., Model], part: str
) -> None:
    answers, until_then = PHASES[part]
    answering(*answers())
    if part == "tools 1":
        guard(worker, ByHand(3600, Decision.DENY))
    client = Client(worker)
    await until_then(worker, Stubborn())
    [call] = [stream for stream in worker.observers.feed.running.values() if stream.part == part]
    assert call.cancel is not None
    assert call.cancel("alice")
    await over(client, worker)
    streams = {stream.part: stream for stream in worker.observers.feed.finished.values()}
    assert {streams[""].outcome, streams[part].outcome} == {"halted"}
    assert b'"code":"cancelled"' in client.data
    assert worker.observers.feed.running == {}


async def test_an_upstream_that_says_it_was_cancelled_failed(worker: Worker, answering: Callable[..., Model]) -> None:
    answering(said(plan()), [*said("Do")[:1], {"error": {"message": "The stream was cancelled.", "code": "cancelled"}}])
    client = Client(worker)
    await over(client, worker)
    assert {stream.outcome for stream in worker.observers.feed.finished.values() if not stream.part} == {
        "upstream_error"
    }


async def test_a_run_may_cost_what_each_of_its_calls_came_to(worker: Worker, answering: Callable[..., Model]) -> None:
    """At the prices of their service tier, three calls exceed the limit; at the usual prices, two would."""
    cost = price("gpt-5", "openai", Tokens(10, 2, tier="flex"))
    assert cost is not None
    executor = build_executor("reasoning", {"dollars": 2.5 * cost})
    worker.configuration.routes["planner"] = KnownRoute("openai/gpt-5", "http://127.0.0.1:9/v1", "", executor)
    texts = [plan("continue_thinking"), USES, plan("continue_thinking"), "Done."]
    answering(*([{**chunk, "service_tier": "flex"} for chunk in said(text)] for text in texts))
    client = Client(worker, model="planner")
    await over(client, worker)
    costs = {stream.part: stream.cost for stream in worker.observers.feed.finished.values()}
    assert costs == {**{f"plan {n}": cost for n in (1, 2, 3)}, "tools 2": None, "answer": cost, "": None}
    run = next(stream for stream in worker.observers.feed.finished.values() if stream.executor)
    assert run.state.usage == {name: 4 * count for name, count in USAGE.items()}


async def test_a_call_that_was_refused_took_nothing(worker: Worker, answering: Callable[..., Model]) -> None:
    """A provider without schemas gets them in words, and the totals count only the calls that it answered."""
    executor = build_executor("reasoning", {"tokens": 1000})
    worker.configuration.routes["planner"] = KnownRoute("openai/gpt-4o", "http://127.0.0.1:9/v1", "", executor)
    refusal = UpstreamError(400, "unknown field: response_format")
    model = answering(refusal, refusal, said(plan("continue_thinking")), said(plan()), said("Done."))
    client = Client(worker, "planner")
    await over(client, worker)
    assert ["response_format" in request for request in model.requests] == [True, True, False, False, False]
    run = next(stream for stream in worker.observers.feed.finished.values() if stream.executor)
    assert run.state.usage == {name: 3 * count for name, count in USAGE.items()}


async def test_a_run_takes_no_tokens_itself_and_tells_the_sum(worker: Worker, answering: Callable[..., Model]) -> None:
    answering(said(plan()), said("Done."))
    client = Client(worker)
    await client.call
    worker.afterwards.finish()
    run = next(stream for stream in worker.observers.feed.finished.values() if stream.executor)
    assert (run.tokens and run.tokens.output, run.cost) == (0, None)
    assert run.state.usage == {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
    assert b"usage" not in client.data  # it did not ask for usage


F: Any = {"name": "f", "input_schema": {"type": "object"}}
G: Any = {"type": "function", "name": "f", "parameters": {}}
NO_PLACE: list[tuple[WireFormat, Any]] = [
    (OPENAI_CHAT, {"n": 2}),
    (OPENAI_CHAT, {"tool_choice": "required", "tools": [{"type": "function", "function": F}]}),
    (OPENAI_RESPONSES, {"previous_response_id": "resp_1"}),
    (OPENAI_RESPONSES, {"tools": [G], "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [G]}}),
    (OPENAI_RESPONSES, {"conversation": "conv_1"}),
    (ANTHROPIC_MESSAGES, {"max_tokens": 9, "tools": [F], "tool_choice": {"type": "tool", "name": "f"}}),
]


@pytest.mark.parametrize(("wire_format", "beside"), NO_PLACE)
async def test_what_has_no_place_in_a_run_is_refused_before_anything_is_asked(
    worker: Worker, answering: Callable[..., Model], wire_format: WireFormat, beside: Any
) -> None:
    model = answering(said(plan()), said("Done."))
    client = Client(worker, wire_format=wire_format, beside=beside)
    await over(client, worker)
    told = json.loads(client.data)
    assert (client.status, model.requests) == (400, [])
    assert "cannot be used in a run" in told["error"]["message"]
    assert told["error"]["type"] == "invalid_request_error"


async def test_embeddings_are_no_runs(worker: Worker, answering: Callable[..., Model]) -> None:
    model = answering(said("Done."))
    client = Client(worker, wire_format=EMBEDDINGS, beside={"stream": False, "input": "Hi"})
    await over(client, worker)
    error = json.loads(client.data)["error"]
    assert (client.status, model.requests, error["code"]) == (400, [], "unsupported_endpoint")
    assert "/v1/embeddings" in error["message"]


async def test_what_is_left_out_on_the_way_to_chat_is_told_of_the_run(
    worker: Worker, answering: Callable[..., Model]
) -> None:
    answering(said(plan()), said("Done."))
    beside = {"text": {"verbosity": "low"}, "tools": [{"type": "function", "name": "f", "parameters": {}}]}
    client = Client(worker, wire_format=OPENAI_RESPONSES, beside=beside)
    await over(client, worker)
    [run] = [stream for stream in worker.observers.feed.finished.values() if stream.executor]
    assert run.left_out == ("text.verbosity", "tools")


async def test_what_has_no_place_in_the_clients_format_is_told_of_the_run(
    worker: Worker, answering: Callable[..., Model]
) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    drawn, *rest = said("Done.")
    drawn["choices"][0]["delta"]["images"] = [image]
    answering(said(plan()), [drawn, *rest])
    client = Client(worker, wire_format=ANTHROPIC_MESSAGES, beside={"max_tokens": 9, "tools": [F]})
    await over(client, worker)
    [run] = [stream for stream in worker.observers.feed.finished.values() if stream.executor]
    assert (run.outcome, run.left_out) == ("completed", ("tools", "images of the answer"))
    assert b"AAAA" not in client.data


async def test_what_had_no_place_is_told_of_a_run_whose_client_leaves_too(
    worker: Worker, answering: Callable[..., Model]
) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    drawn, *_ = said("Done.")
    drawn["choices"][0]["delta"]["images"] = [image]
    answering(said(plan()), [drawn, asyncio.Event()])
    client = Client(worker, wire_format=ANTHROPIC_MESSAGES, beside={"max_tokens": 9, "tools": [F]})
    while b"Done." not in client.data:
        await asyncio.sleep(0)
    client.leave()
    await over(client, worker)
    [run] = [stream for stream in worker.observers.feed.finished.values() if stream.executor]
    assert (run.outcome, run.left_out) == ("client_disconnected", ("tools", "images of the answer"))


async def test_a_plan_asks_for_no_more_than_its_model_writes(worker: Worker, answering: Callable[..., Model]) -> None:
    executor = build_executor("reasoning", {"tokens": 500_000})
    worker.configuration.routes["planner"] = KnownRoute("openai/gpt-4o", "http://127.0.0.1:9/v1", "", executor)
    model = answering(said(plan()), said("Done."))
    await over(Client(worker, "planner"), worker)
    assert [request.get("max_tokens") for request in model.requests] == [16_384, None]


async def test_a_models_own_name_for_what_bounds_an_answer_is_used(
    worker: Worker, answering: Callable[..., Model]
) -> None:
    for target, name in (("openai/gpt-5", "max_completion_tokens"), ("openai/gpt-4o", "max_tokens")):
        executor = build_executor("reasoning", {"tokens": 1000})
        worker.configuration.routes[name] = KnownRoute(target, "http://127.0.0.1:9/v1", "", executor)
        model = answering(said(plan()), said("Done."))
        client = Client(worker, name, ANTHROPIC_MESSAGES, {"max_tokens": 7})
        await over(client, worker)
        assert [request.get(name) for request in model.requests] == [1000, 7]
