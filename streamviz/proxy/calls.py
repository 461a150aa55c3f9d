"""Model calls: POST /v1/chat/completions, /v1/messages and /v1/responses."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.blocks import StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.errors import ClientFacingError, UpstreamError
from streamviz.core.events import BlockKind
from streamviz.core.masking import masking
from streamviz.core.request import ModelCall
from streamviz.core.usage import CHARACTERS_A_TOKEN, Usage, normalise
from streamviz.live.streams import LiveStream
from streamviz.proxy import http, recording
from streamviz.proxy.answers import consult, open_answer
from streamviz.proxy.formats import WireFormat
from streamviz.proxy.relay import Relay
from streamviz.proxy.requests import ModelRequest, read_request
from streamviz.proxy.sessions import label_of
from streamviz.proxy.worker import Worker
from streamviz.records.ids import uuid7
from streamviz.records.models import Outcome
from streamviz.records.standing import KnownKey
from streamviz.upstream.prices import price
from streamviz.upstream.targets import Lane, Target
from streamviz.upstream.translated import require_translatable

# Headers of the formats themselves, which the provider is to see.
PASSED_ON = (b"anthropic-version", b"anthropic-beta", b"openai-beta")

# What a client that reads nothing gets to take the end of a stream that a person cancelled.
LAST_WORDS_SECONDS = 2.0

# Many clients leave on seeing a stream's last word. What upstream gets to end its response after that.
END_SECONDS = 2.0

FindTarget = Callable[[ModelRequest], Awaitable[Target]]


async def model_call(
    wire_format: WireFormat, worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
) -> None:
    """Proxy one call. Raises RequestError for a request that never becomes a stream."""
    requested_at = worker.observers.clock.now()
    key = worker.authenticate(scope)
    worker.admit()
    body = await http.read_body(receive)
    await worker.turns.take()
    request = read_request(body, wire_format)
    find = partial(target_of, worker, wire_format, scope)
    target = await find(request)
    aggregator = wire_format.aggregator()
    stream = _open_stream(worker, wire_format, scope, request, target, key, aggregator.state, requested_at)
    chosen = worker.standing.policies_for(request.model, key.name)
    stream.context.not_run += chosen.not_run
    observers = worker.observers.masked_by(masking(chosen.active), stream.context)
    relay = Relay(stream, wire_format, aggregator, chosen.active, observers, partial(consult, worker), send)
    judging = relay.judge(stream.context.request)
    if judging.is_settled:
        _keep_request(stream, wire_format, request.replaced_by(judging.call))
    relay.record(recording.opened(stream))
    worker.observers.feed.opened(stream)
    try:
        call = _carry(worker, stream, relay, wire_format, request, find, client_headers(scope))
        await _until_client_leaves(call, receive, stream, relay)
    finally:
        _leave(worker, stream, relay)


def _keep_request(stream: LiveStream, wire_format: WireFormat, request: ModelRequest) -> None:
    """What is kept is the request as it goes upstream: of what a policy masks in it nothing is."""
    stream.request = request.body
    stream.session_label = stream.session_label or label_of(request.fields, wire_format.turns)


def client_headers(scope: HTTPScope) -> dict[str, str]:
    """The headers of the request that the provider is to see."""
    return {name.decode(): value for name in PASSED_ON if (value := http.header(scope, name))}


async def target_of(worker: Worker, wire_format: WireFormat, scope: HTTPScope, request: ModelRequest) -> Target:
    """Where a request goes, with the credential that it goes with. Raises RequestError where it cannot."""
    target = await worker.target_for(request.model, wire_format.name)
    if settings.CLIENT_CREDENTIALS and (credentials := http.credentials(scope)):
        target = target.with_key(credentials[0])
    target.require_key()
    if target.lane is Lane.TRANSLATED:
        require_translatable(target, request.fields)
    return target


def _open_stream(
    worker: Worker,
    wire_format: WireFormat,
    scope: HTTPScope,
    request: ModelRequest,
    target: Target,
    key: KnownKey,
    state: StreamState,
    requested_at: int,
) -> LiveStream:
    session = worker.sessions.find(request.fields, wire_format.turns, key.name, http.header(scope, b"x-session-id"))
    client = scope["client"]
    stream_id = uuid7()
    return LiveStream(
        id=stream_id,
        session_id=session.id,
        session_label=session.label,
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
            worker.observers.clock.now,
            ModelCall(wire_format.name, request.fields),
            worker.sessions.counts(session.id, requested_at),
            state,
            price=partial(price, target.model, target.provider),
            began_at=requested_at,
        ),
        client=client[0] if client else "",
        user_agent=http.header(scope, b"user-agent"),
    )


async def _carry(
    worker: Worker,
    stream: LiveStream,
    relay: Relay,
    wire_format: WireFormat,
    asked: ModelRequest,
    find: FindTarget,
    client_headers: dict[str, str],
) -> None:
    is_allowed = await relay.judged()
    request = asked.replaced_by(stream.context.request)
    if not stream.request:
        # It was open until now what it would be.
        _keep_request(stream, wire_format, request)
        relay.record(recording.opened(stream))
    if not is_allowed:
        return
    try:
        # A policy may have named another model.
        target = await find(request)
        stream.upstream_model, stream.provider = target.model, target.provider
        stream.context.price = partial(price, target.model, target.provider)
        answer = await open_answer(worker, request, target, client_headers)
    except ClientFacingError as error:
        await relay.refuse(error)
        return
    try:
        await relay.carry(answer)
    except UpstreamError as error:
        await relay.refuse(error)
    finally:
        answer.close()


def _how_far(stream: LiveStream) -> str:
    """In words, how much of upstream's answer a client was sent that has left."""
    passed = stream.passed_seqs
    return f"the client left after chunk {passed[-1]}" if passed else "the client left before the answer began"


async def _until_client_leaves(
    call: Coroutine[None, None, None], receive: ASGIReceiveCallable, stream: LiveStream, relay: Relay
) -> None:
    """Run `call` to its end, or until the client leaves or a person cancels: upstream is closed at once then."""
    running = asyncio.ensure_future(call)
    leaving = asyncio.ensure_future(receive())
    stopping: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stream.cancel = partial(_stop, stopping)
    try:
        await asyncio.wait((running, leaving, stopping), return_when=asyncio.FIRST_COMPLETED)
        stream.cancel = None
        if leaving.done() and relay.has_sent_all:
            await asyncio.wait((running,), timeout=END_SECONDS)
        if running.done():
            running.result()
        elif leaving.done():
            stream.outcome, stream.error = Outcome.CLIENT_DISCONNECTED, _how_far(stream)
        else:
            await _cancel(running, leaving, relay.cancelled(stopping.result()))
    finally:
        for task in (running, leaving):
            task.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


def _stop(stopping: "asyncio.Future[str]", by: str) -> bool:
    """A person's word to cancel a stream; False where another has said so, or it is over."""
    if stopping.done():
        return False
    stopping.set_result(by)
    return True


async def _cancel(
    running: "asyncio.Future[None]", leaving: "asyncio.Future[Any]", last_words: Coroutine[None, None, None]
) -> None:
    """Stop carrying, then tell the client, who may have left or be reading nothing."""
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    telling = asyncio.ensure_future(last_words)
    await asyncio.wait((telling, leaving), timeout=LAST_WORDS_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)


def _count(stream: LiveStream) -> None:
    """Add a stream that ended to what its session comes to."""
    counts, state = stream.context.session, stream.state
    counts.streams += 1
    counts.blocks += len(state.blocks)
    counts.tool_calls += sum(block.kind is BlockKind.TOOL_CALL for block in state.blocks)
    if not state.blocks and state.usage is None:
        return
    usage = normalise(state.usage) or Usage()
    asked, said = usage.input_tokens, usage.output_tokens
    counts.is_estimate |= asked is None or said is None
    asked = stream.context.request.length // CHARACTERS_A_TOKEN if asked is None else asked
    said = state.length // CHARACTERS_A_TOKEN if said is None else said
    cost = price(stream.upstream_model, stream.provider, asked, said)
    counts.output_tokens += said
    counts.cost += cost or 0.0
    counts.unpriced += cost is None


def _leave(worker: Worker, stream: LiveStream, relay: Relay) -> None:
    """The client has all that it gets. Where a shadow still waits for a judge, the record waits for it too."""
    stream.ended_at = worker.observers.clock.now()
    if stream.outcome in (Outcome.COMPLETED, Outcome.HALTED) and relay.driver.has_questions:
        worker.run_behind(_close_after_shadows(worker, stream, relay))
    else:
        relay.abandon()
        _close_stream(worker, stream, relay)


async def _close_after_shadows(worker: Worker, stream: LiveStream, relay: Relay) -> None:
    try:
        await relay.driver.finish_shadows()
    finally:
        relay.abandon()
        _close_stream(worker, stream, relay)


def _close_stream(worker: Worker, stream: LiveStream, relay: Relay) -> None:
    stream.outcome = stream.outcome or Outcome.INTERRUPTED
    assert stream.ended_at is not None
    _count(stream)
    relay.record(recording.closed(stream, stream.ended_at))
    worker.observers.feed.closed(stream)
    relay.let_go()
