"""Model calls: POST /v1/chat/completions, /v1/messages and /v1/responses, as well as Gemini's calls and embeddings."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.bounded import aside, rest, within
from streamviz.core.context import SessionCounts
from streamviz.core.errors import ClientFacingError
from streamviz.core.judgements import Subject
from streamviz.core.masking import mask_all
from streamviz.core.outcome import Outcome
from streamviz.core.request_judging import RequestJudging
from streamviz.core.verdicts import Decision
from streamviz.core.wire_format import WireFormat
from streamviz.exchange import recording
from streamviz.exchange.exchange import Exchange
from streamviz.exchange.reading import Means
from streamviz.exchange.stream import LiveStream
from streamviz.proxy import hops, http, limiting
from streamviz.proxy.answers import helpers, open_counted
from streamviz.proxy.beginning import Caller, new_stream
from streamviz.proxy.client_headers import end_to_end
from streamviz.proxy.driver import Driver
from streamviz.proxy.leaving import Leaving, leaving_of, until_over
from streamviz.proxy.refusals import about_model
from streamviz.proxy.requests import ModelRequest, read_aside, read_request
from streamviz.proxy.runs import RunningCall
from streamviz.proxy.said import Said
from streamviz.proxy.spending import add_up, most_of
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.masked import Masked
from streamviz.records.moments import Clock
from streamviz.traces import HEADER
from streamviz.upstream.answer import Answer
from streamviz.upstream.prices import price
from streamviz.upstream.targets import Lane, Target

Require = Callable[[Worker, KnownKey, ModelRequest], Awaitable[None]]


@dataclass(frozen=True, eq=False)
class _Call:
    """One call: the request and what carries it out."""

    caller: Caller
    driver: Driver
    said: Said
    asked: ModelRequest

    @property
    def worker(self) -> Worker:
        return self.caller.worker

    @property
    def exchange(self) -> Exchange:
        return self.driver.exchange

    @property
    def stream(self) -> LiveStream:
        return self.driver.exchange.stream


async def model_call(
    wire_format: WireFormat,
    worker: Worker,
    scope: HTTPScope,
    receive: ASGIReceiveCallable,
    send: ASGISendCallable,
    require: Require | None = None,
) -> None:
    """Proxy one call. Raises RequestError for a request that never becomes a stream, including what `require`
    raises."""
    clock = Clock()
    requested_at = clock.now()
    key = worker.authenticate(scope)
    worker.admit()
    body = await http.read_body(scope, receive)
    await worker.slots.take()
    request = await read_aside(body, partial(read_request, wire_format=wire_format))
    about_model(scope, request.model)
    if require is not None:
        await require(worker, key, request)
    caller = Caller(worker, wire_format, scope, key, clock, requested_at)
    await serve(caller, request, partial(leaving_of, scope, receive), send)


async def serve(caller: Caller, request: ModelRequest, leaving: Leaving, send: ASGISendCallable) -> None:
    """Serve a call, of a client or of a run, from its request to its last frame. Raises as above."""
    worker, wire_format = caller.worker, caller.wire_format
    clients_own = request.fields
    request = await worker.denied_calls.answered(caller.key, request, wire_format)
    target = await caller.find(request)
    aggregator = wire_format.new_aggregator(settings.ANSWER_BOUNDS)
    said = caller.says(request)
    stream = new_stream(caller, said, request, clients_own, aggregator)
    exchange = Exchange(stream, wire_format, aggregator, (), Means(settings.ANSWER_BOUNDS, within, rest, aside))
    send = http.adding(send, {http.STREAM: str(stream.id)})
    driver = Driver(exchange, worker.observers, helpers(worker, hops.onward(caller.scope)), send, worker.floods)
    driver.before_sending = worker.denied_calls.noting_ahead(stream)
    call = _Call(caller, driver, said, request)
    try:
        await _open(call, target)
    except BaseException:
        _give_back(call)
        raise
    try:
        await until_over(partial(_carry, call, target), leaving(), driver, worker)
    finally:
        _leave(call)


async def _open(call: _Call, target: Target) -> None:
    """Judge the request as far as possible without asking anybody else, and show the stream."""
    stream = call.stream
    judging = await _judge(call, target)
    if judging.is_settled and (judging.denied or judging.call.model == call.asked.model):
        await _keep(call, call.asked.replaced_by(judging.call))
    else:
        # The model, and so the policies in force, may still change: until then keep only what all policies would keep.
        call.said.keep_names(stream, call.worker.configuration.policies_of_all())
    call.driver.record(recording.opened(stream))
    call.worker.observers.opened(stream)
    if call.caller.part is not None:
        call.caller.part.run.calls.append(stream)


async def _judge(call: _Call, target: Target) -> RequestJudging:
    """Direct the request to this target, and have the policies for it judge the request, except those that have already
    changed it. What they mask in the answer is not recorded."""
    stream, exchange, context, worker = call.stream, call.exchange, call.stream.context, call.worker
    stream.upstream_model, stream.provider = target.model, target.provider
    executor = call.caller.executor(context.request.model)
    stream.executor, stream.calls_model = executor.shown, executor.calls_model
    context.price = partial(price, target.model, target.provider)
    context.request = context.request.called(target.names(context.request.model))
    chosen = worker.configuration.policies_for(context.request.models, stream.key_name)
    context.not_run[:] = chosen.not_run
    exchange.adopt(chosen.active)
    recorder = worker.observers.recorder
    call.driver.recorder = Masked(recorder, exchange.masking, context) if exchange.masking else recorder
    await _reserve(call)
    return exchange.judge(context.request, _changed_it(stream))


async def _keep(call: _Call, request: ModelRequest) -> None:
    """Keep the settled request: what goes upstream is what the record and pages have."""
    stream, policies = call.stream, call.exchange.policies
    call.said.keep(stream, await request.kept(), policies)
    stream.session_label = call.worker.sessions.label(stream.session_id, partial(call.said.label, request, policies))


async def _carry(call: _Call, found: Target) -> None:
    """Settle the request, send it, and carry the answer."""
    exchange, life = call.exchange, call.stream.life
    try:
        target = await _settle(call, found)
        request = await _record_settled(call)
        if target is None or life.is_ending:
            await call.driver.carry_out()
            return
        exchange.forwarded(is_replayed=target.lane is Lane.REPLAYED, is_translated=target.lane is Lane.TRANSLATED)
        answer = await _answer(call, request, target)
    except ClientFacingError as error:
        await _record_settled(call)
        if not life.is_ending:
            exchange.refused(error)
        await call.driver.carry_out()
    else:
        await call.driver.carry(answer)


async def _answer(call: _Call, request: ModelRequest, target: Target) -> Answer:
    """The answer of the call's executor. Raises ClientFacingError if there is none."""
    caller = call.caller
    headers = hops.onward(caller.scope)
    # A run's own calls are in another format than its client's, for which the client's headers were meant.
    if caller.part is None:
        headers |= end_to_end(caller.scope, call.exchange.policies)
    if call.stream.trace:
        headers[HEADER] = call.stream.trace.header
    passed = partial(open_counted, call.worker, call.stream, request, target, headers)
    running = RunningCall(caller, call.stream, call.said, request, target, passed, serve)
    answer = await caller.executor(request.model).open(running)
    if not call.stream.calls_model:
        call.stream.left_out = (*running.left_out, *answer.left_out)
        call.stream.hides_usage = not caller.wire_format.asks_for_usage(request.fields)
    return answer


async def _record_settled(call: _Call) -> ModelRequest:
    """The request as policies left it. Records it if that was not settled before."""
    stream = call.stream
    request = call.asked.replaced_by(stream.context.request)
    if not stream.request:
        await _keep(call, request)
        call.driver.record(recording.opened(stream))
    return request


async def _settle(call: _Call, found: Target) -> Target | None:
    """Wait until the request is fully judged, and return its target; None if it does not go upstream. The target
    `found` stays if nobody was asked about the request and nobody changed it.

    A policy may name another model. Then the policies of that model judge the request, and its answer; each policy
    changes it at most once, so this terminates. Raises RequestError if there is no such model.
    """
    context, model = call.stream.context, call.asked.model
    is_asked = call.exchange.has_questions
    while True:
        await call.driver.settle()
        if call.stream.life.is_ending or not call.exchange.judged():
            return None
        if not is_asked and context.request.fields is call.asked.fields:
            return found
        target = await call.caller.find(call.asked.replaced_by(context.request), found)
        if context.request.model == model:
            await _reserve(call)  # the changed request may cost more
            return target
        model = context.request.model
        await _judge(call, target)


def _changed_it(stream: LiveStream) -> set[str]:
    """The names of the policies that have changed the request."""
    return {
        each.policy.name
        for each in stream.context.judgements
        if each.subject is Subject.REQUEST and each.verdict.decision is Decision.REPLACE
    }


async def _reserve(call: _Call) -> None:
    stream = call.stream
    await limiting.reserve(call.worker, stream, call.exchange.policies, partial(most_of, stream))


def _give_back(call: _Call) -> None:
    """Undo what was done for a stream that never began: nobody else will settle its reservations."""
    limiting.settle(call.worker, call.stream, SessionCounts())
    call.worker.sessions.forget(call.stream)
    call.driver.forget()


def _leave(call: _Call) -> None:
    """Finish a call whose client has all that it gets. If a policy in shadow still waits for a judge, or blocks are
    still to be masked, the stream is recorded as closed only after that.

    Whatever the next request may depend on is done at once: the stream's totals if limits count them, and the fact that
    it failed, as its client will retry. For other streams, it is done when somebody looks for it (`Conversations`).
    """
    stream, worker = call.stream, call.worker
    _tell_run(call)
    worker.denied_calls.note(stream)
    if call.exchange.has_questions or call.exchange.masking:
        worker.sessions.ended(stream)
        worker.run_behind(_close_later(call))
    elif call.exchange.policies or stream.outcome != Outcome.COMPLETED:
        worker.sessions.ended(stream)
        _close(call)
    else:
        worker.sessions.over(stream)
        # Two pieces of work: running streams need not wait for both at once.
        worker.afterwards.add(partial(worker.sessions.ended, stream))
        worker.afterwards.add(partial(_close, call))


def _tell_run(call: _Call) -> None:
    """Tell the run what its call cost and how it ended. The run continues before that is recorded."""
    if call.caller.part is not None:
        add_up(call.stream)
        cost = call.stream.cost if call.stream.calls_model else 0.0
        call.caller.part.came_to(cost, call.stream.outcome)


async def _close_later(call: _Call) -> None:
    try:
        await call.driver.finish_shadows()
        await mask_all(call.exchange.masking, call.stream.context, call.worker.pool.judge, rest)
    finally:
        _close(call)


def _close(call: _Call) -> None:
    """Close the stream and settle its reservations, whatever policies do meanwhile."""
    stream = call.stream
    try:
        call.driver.close()
    finally:
        assert stream.ended_at is not None
        add_up(stream)
        limiting.count(call.worker, stream)
        call.driver.record(recording.closed(stream))
        call.worker.observers.closed(stream)
        stream.release()
