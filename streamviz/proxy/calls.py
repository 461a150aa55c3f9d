"""Model calls: POST /v1/chat/completions, /v1/messages and /v1/responses."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.bounded import rest
from streamviz.core.blocks import StreamState
from streamviz.core.context import SessionCounts, StreamingContext
from streamviz.core.errors import ClientFacingError, InternalError, NotRecorded, RequestError, UpstreamError
from streamviz.core.judgements import Subject
from streamviz.core.masking import mask_all, masking
from streamviz.core.model_names import model_names
from streamviz.core.policy import ActivePolicy, Decision, Mode
from streamviz.core.request import ModelCall
from streamviz.lifespan import WHY
from streamviz.live.streams import LiveStream
from streamviz.proxy import http, recording
from streamviz.proxy.answers import helpers, open_answer
from streamviz.proxy.clock import Clock
from streamviz.proxy.formats import WireFormat
from streamviz.proxy.relay import Relay
from streamviz.proxy.requests import ModelRequest, read_request
from streamviz.proxy.said import Said, said_of
from streamviz.proxy.spending import amounts_of, spent_by
from streamviz.proxy.worker import LAST_WORDS_SECONDS, Worker
from streamviz.records.ids import uuid7
from streamviz.records.models import Outcome
from streamviz.records.standing import KnownKey
from streamviz.upstream.other_models import require_one_model
from streamviz.upstream.prices import price
from streamviz.upstream.targets import Lane, Target
from streamviz.upstream.translated import require_translatable

log = logging.getLogger(__name__)

# Headers of the formats themselves, which the provider is to see.
PASSED_ON = (b"anthropic-version", b"anthropic-beta", b"openai-beta")

# To read so much takes some ms, and so does each step after it.
LONG_BODY_BYTES = 100_000

# Many clients leave on seeing a stream's last word. What upstream gets to end its response after that.
END_SECONDS = 2.0

# Tells the client that its stream ends, and has it recorded so.
Say = Callable[[], Coroutine[None, None, None]]
FindTarget = Callable[[ModelRequest], Awaitable[Target]]


async def model_call(
    wire_format: WireFormat, worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
) -> None:
    """Proxy one call. Raises RequestError for a request that never becomes a stream."""
    clock = Clock()
    requested_at = clock.now()
    key = worker.authenticate(scope)
    worker.admit()
    body = await http.read_body(scope, receive)
    await worker.turns.take()
    request = read_request(body, wire_format)
    if len(body) > LONG_BODY_BYTES:
        await rest()
    find = partial(target_of, worker, wire_format, scope, key)
    target = await find(request)
    aggregator = wire_format.aggregator(settings.ANSWER_BOUNDS)
    said = said_of(wire_format, scope, request)
    stream = _open_stream(worker, said, scope, request, target, key, aggregator.state, clock, requested_at)
    chosen = worker.standing.policies_for(stream.context.request.models, key.name)
    stream.context.not_run += chosen.not_run
    observers = replace(worker.observers, clock=clock).masked_by(masking(chosen.active), stream.context)
    relay = Relay(stream, wire_format, aggregator, chosen.active, observers, helpers(worker), send, worker.floods)
    try:
        await _open(worker, stream, relay, said, request, chosen.active)
    except BaseException:
        _give_back(worker, stream, relay)
        raise
    try:
        carry = partial(_carry, worker, stream, relay, said, request, find, client_headers(scope))
        call = _carry_recorded(relay, carry)
        await _until_client_leaves(call, receive, stream, relay, worker)
    finally:
        _leave(worker, stream, relay)


async def _open(
    worker: Worker,
    stream: LiveStream,
    relay: Relay,
    said: Said,
    request: ModelRequest,
    policies: Sequence[ActivePolicy],
) -> None:
    """Reserve what the stream may come to, judge its request as far as that needs nobody else, and show it."""
    await _reserve(worker, stream, policies)
    judging = relay.judge(stream.context.request)
    if judging.is_settled and (judging.denied or judging.call.model == request.model):
        said.keep(stream, request.replaced_by(judging.call), relay.policies)
    else:
        said.keep_meanwhile(stream, worker.standing.policies_of_all())
    relay.record(recording.opened(stream))
    worker.observers.feed.opened(stream)


def client_headers(scope: HTTPScope) -> dict[str, str]:
    """The headers of the request that the provider is to see."""
    return {name.decode(): value for name in PASSED_ON if (value := http.header(scope, name))}


async def target_of(
    worker: Worker, wire_format: WireFormat, scope: HTTPScope, key: KnownKey, request: ModelRequest
) -> Target:
    """Where a request goes, with the credential that it goes with. Raises RequestError where it cannot or may not."""
    target = await worker.target_for(request.model, wire_format.name)
    if not key.may_call(request.model, target.provider, target.model):
        message = f"The API key {key.name} is not for the model `{request.model}`. See GET /v1/models."
        raise RequestError(403, message, kind="permission_error", code="model_not_allowed", param="model")
    if settings.CLIENT_CREDENTIALS and (credentials := http.credentials(scope)):
        target = target.with_key(credentials[0])
    target.require_key()
    require_one_model(request.fields)
    if target.lane is Lane.TRANSLATED:
        require_translatable(target, request.fields)
    return target


def _open_stream(
    worker: Worker,
    said: Said,
    scope: HTTPScope,
    request: ModelRequest,
    target: Target,
    key: KnownKey,
    state: StreamState,
    clock: Clock,
    requested_at: int,
) -> LiveStream:
    wire_format = said.wire_format
    session = worker.sessions.find(request.fields, wire_format.turns, key.name, said.session)
    client = scope["client"]
    stream_id = uuid7()
    return LiveStream(
        id=stream_id,
        session_id=session.id,
        session_label="",
        key_id=key.id,
        key_name=key.name,
        endpoint=wire_format.path,
        wire_format=wire_format.name,
        is_streaming=request.is_streaming,
        requested_model=request.model,
        upstream_model=target.model,
        provider=target.provider,
        requested_at=requested_at,
        state=state,
        context=StreamingContext(
            str(stream_id),
            clock.now,
            ModelCall(
                wire_format.name,
                request.fields,
                len(request.body),
                model_names(request.model, target.provider, target.model),
            ),
            worker.sessions.counts(session.id, requested_at),
            state,
            price=partial(price, target.model, target.provider),
            began_at=requested_at,
            owner=str(key.id or session.id),
        ),
        client=client[0] if client else "",
    )


async def _carry_recorded(relay: Relay, carry: Callable[[], Awaitable[None]]) -> None:
    """Carry a call; where it cannot be recorded any more, or streamviz fails at it, it ends, legally."""
    try:
        await carry()
    except NotRecorded as error:
        await relay.break_off(error)
    except http.CannotEnd:
        raise
    except Exception:
        log.exception("a stream broke off")
        await relay.break_off(InternalError())


async def _carry(
    worker: Worker,
    stream: LiveStream,
    relay: Relay,
    said: Said,
    asked: ModelRequest,
    find: FindTarget,
    client_headers: dict[str, str],
) -> None:
    relay.require_record()
    try:
        target = await _settle(worker, stream, relay, asked, find)
        request = _record_settled(stream, relay, said, asked)
        if target is None:
            return
        answer = await open_answer(worker, request, target, relay.kept(client_headers))
    except ClientFacingError as error:
        _record_settled(stream, relay, said, asked)
        await relay.refuse(error)
        return
    try:
        await relay.carry(answer)
    except UpstreamError as error:
        await relay.refuse(error)
    finally:
        answer.close()


def _record_settled(stream: LiveStream, relay: Relay, said: Said, asked: ModelRequest) -> ModelRequest:
    """The request as policies left it, which the record gets where it was open until now what that would be."""
    request = asked.replaced_by(stream.context.request)
    if not stream.request:
        said.keep(stream, request, relay.policies)
        relay.record(recording.opened(stream))
    return request


async def _settle(
    worker: Worker, stream: LiveStream, relay: Relay, asked: ModelRequest, find: FindTarget
) -> Target | None:
    """Have the request judged to its end, and give where it goes; None where it was denied and the client knows.

    A policy may name another model. Then the policies of that model judge the request, and its answer. Those that
    changed the request have had their say, so this comes to an end. Raises RequestError where there is no such model.
    """
    model = asked.model
    while await relay.judged():
        call = stream.context.request
        target = await find(asked.replaced_by(call))
        if call.model == model:
            return target
        model = call.model
        await _reserve(worker, stream, _call_instead(worker, stream, relay, target))
        relay.judge(stream.context.request, _changed_it(stream))
    return None


def _call_instead(worker: Worker, stream: LiveStream, relay: Relay, target: Target) -> Sequence[ActivePolicy]:
    """Another model is called than the client asked for, so other policies are in force: these."""
    context, call = stream.context, stream.context.request
    stream.upstream_model, stream.provider = target.model, target.provider
    context.price = partial(price, target.model, target.provider)
    context.request = replace(call, names=model_names(call.model, target.provider, target.model))
    chosen = worker.standing.policies_for(context.request.models, stream.key_name)
    context.not_run[:] = chosen.not_run
    relay.adopt(chosen.active, worker.observers.recorder)
    return chosen.active


def _changed_it(stream: LiveStream) -> set[str]:
    """The policies that have changed the request."""
    return {
        each.policy.name
        for each in stream.context.judgements
        if each.subject is Subject.REQUEST and each.verdict.decision is Decision.REPLACE
    }


def _left(stream: LiveStream, why: str) -> None:
    """The client is gone: say how much of upstream's answer it was sent, and `why` where it did not just leave."""
    passed = stream.passed_seqs
    how_far = f"after chunk {passed[-1]}" if passed else "before the answer began"
    stream.outcome = Outcome.CLIENT_DISCONNECTED
    stream.error = f"{why}; it was cut off {how_far}" if why else f"the client left {how_far}"


async def _until_client_leaves(
    call: Coroutine[None, None, None],
    receive: ASGIReceiveCallable,
    stream: LiveStream,
    relay: Relay,
    worker: Worker,
) -> None:
    """Run `call` to its end, or until the client leaves, a person cancels or the server stops: upstream is closed at
    once then."""
    running = asyncio.ensure_future(call)
    leaving = asyncio.ensure_future(receive())
    stopping: asyncio.Future[Say] = asyncio.get_running_loop().create_future()
    stream.cancel = partial(_cancelled, stopping, relay)
    worker.end_with_key(stream, partial(_stop, stopping, relay.revoked))
    try:
        with worker.stopped_by(partial(_stop, stopping, relay.stopped)):
            await asyncio.wait((running, leaving, stopping), return_when=asyncio.FIRST_COMPLETED)
        stream.cancel = None
        if leaving.done() and relay.has_sent_all:
            await asyncio.wait((running,), timeout=END_SECONDS)
        if running.done():
            running.result()
        elif leaving.done():
            _left(stream, _why(leaving))
            await worker.floods.take()  # many may leave at once, and it takes a while to close a long stream
        else:
            await _cancel(running, leaving, stopping.result()())
    except asyncio.CancelledError:
        # The server has waited long enough: for an application whose client has left, or for all when it stops.
        if leaving.done() and not stream.outcome:
            _left(stream, _why(leaving))
        raise
    finally:
        worker.over(stream)
        for task in (running, leaving):
            task.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


def _why(leaving: "asyncio.Future[Any]") -> str:
    """Why the server says that the client is gone; nothing where it just left."""
    return str(leaving.result().get(WHY, ""))


def _stop(stopping: "asyncio.Future[Say]", say: Say) -> bool:
    """Have a stream end with these words; False where it does so already, or is over."""
    if stopping.done():
        return False
    stopping.set_result(say)
    return True


def _cancelled(stopping: "asyncio.Future[Say]", relay: Relay, by: str) -> bool:
    return _stop(stopping, partial(relay.cancelled, by))


async def _cancel(
    running: "asyncio.Future[None]", leaving: "asyncio.Future[Any]", last_words: Coroutine[None, None, None]
) -> None:
    """Stop carrying, then tell the client, who may have left or be reading nothing."""
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    telling = asyncio.ensure_future(last_words)
    await asyncio.wait((telling, leaving), timeout=LAST_WORDS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    telling.cancel()
    [failure] = await asyncio.gather(telling, return_exceptions=True)
    if isinstance(failure, http.CannotEnd):
        raise failure


async def _reserve(worker: Worker, stream: LiveStream, policies: Sequence[ActivePolicy]) -> None:
    """Where a policy goes by what the session has come to, ask that, and reserve what this stream may add.

    No client waits for a shadow, which goes by what this worker knows.
    """
    if any(active.policy.counts_session and active.mode is Mode.ENFORCE for active in policies):
        amounts = amounts_of(stream.context.request, stream.upstream_model, stream.provider)
        stream.has_reserved = True  # even if the answer is not waited for
        stream.context.session = await worker.tallies.reserve(stream.session_id, stream.id, amounts)


def _give_back(worker: Worker, stream: LiveStream, relay: Relay) -> None:
    """The stream never began: nobody else will settle what it reserved."""
    if stream.has_reserved:
        worker.tallies.settle(stream.session_id, stream.id, SessionCounts())
    relay.driver.close()
    relay.let_go()


def _count(worker: Worker, stream: LiveStream) -> None:
    """Add a stream that ended to what its session comes to; one that was denied never was one."""
    spent = spent_by(stream)
    worker.sessions.counts(stream.session_id, stream.requested_at).add(spent)
    if stream.has_reserved:
        is_denied = stream.outcome == Outcome.HALTED and not stream.received_at
        worker.tallies.settle(stream.session_id, stream.id, SessionCounts() if is_denied else spent)


def _leave(worker: Worker, stream: LiveStream, relay: Relay) -> None:
    """The client has all that it gets. Where a shadow still waits for a judge, or blocks are to be masked, the record
    waits for it too."""
    stream.ended_at = stream.context.now()
    stream.context.end_holds()
    is_over = stream.outcome in (Outcome.COMPLETED, Outcome.HALTED)
    if (is_over and relay.driver.has_questions) or relay.masking:
        worker.run_behind(_close_later(worker, stream, relay, asks=is_over))
    else:
        _abandon(worker, stream, relay)


def _abandon(worker: Worker, stream: LiveStream, relay: Relay) -> None:
    """Whatever a policy does at that, the stream is closed, and what it reserved is settled."""
    try:
        relay.abandon()
    finally:
        _close_stream(worker, stream, relay)


async def _close_later(worker: Worker, stream: LiveStream, relay: Relay, *, asks: bool) -> None:
    try:
        if asks:
            await relay.driver.finish_shadows()
        await mask_all(relay.masking, stream.context, worker.pool.judge, rest)
    finally:
        _abandon(worker, stream, relay)


def _close_stream(worker: Worker, stream: LiveStream, relay: Relay) -> None:
    stream.outcome = stream.outcome or Outcome.INTERRUPTED
    assert stream.ended_at is not None
    _count(worker, stream)
    relay.record(recording.closed(stream, stream.ended_at))
    worker.observers.feed.closed(stream)
    relay.let_go()
