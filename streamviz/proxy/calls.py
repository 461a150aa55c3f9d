"""Model calls: POST /v1/chat/completions, /v1/messages and /v1/responses."""

import asyncio
from collections.abc import Coroutine

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings

from streamviz.core.blocks import StreamState
from streamviz.core.errors import UpstreamError
from streamviz.core.policy import StreamingContext
from streamviz.live.streams import LiveStream
from streamviz.proxy import http, recording
from streamviz.proxy.formats import WireFormat
from streamviz.proxy.relay import Relay
from streamviz.proxy.requests import ModelRequest, read_request
from streamviz.proxy.worker import Worker
from streamviz.records.ids import uuid7
from streamviz.records.models import Outcome
from streamviz.records.standing import KnownKey
from streamviz.upstream.answer import Answer
from streamviz.upstream.raw import open_raw
from streamviz.upstream.targets import Lane, Target
from streamviz.upstream.translated import open_translated, require_translatable

# Headers of the formats themselves, which the provider is to see.
PASSED_ON = (b"anthropic-version", b"anthropic-beta", b"openai-beta")


async def model_call(
    wire_format: WireFormat, worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
) -> None:
    """Proxy one call. Raises RequestError for a request that never becomes a stream."""
    requested_at = worker.observers.clock.now()
    key = worker.authenticate(scope)
    request = read_request(await http.read_body(receive), wire_format)
    target = await target_of(worker, wire_format, scope, request)
    aggregator = wire_format.aggregator()
    stream = _open_stream(worker, wire_format, scope, request, target, key, aggregator.state, requested_at)
    policies = worker.standing.policies_for(request.model, key.name)
    relay = Relay(stream, wire_format, aggregator, policies, worker.observers, send)
    worker.observers.recorder.append(recording.opened(stream))
    worker.observers.feed.opened(stream)
    try:
        await _until_client_leaves(_carry(worker, request, target, relay, client_headers(scope)), receive, stream)
    finally:
        _close_stream(worker, stream)


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
        context=StreamingContext(str(stream_id), worker.observers.clock.now),
        client=client[0] if client else "",
        user_agent=http.header(scope, b"user-agent"),
        request=request.body,
    )


async def _carry(
    worker: Worker, request: ModelRequest, target: Target, relay: Relay, passed_on: dict[str, str]
) -> None:
    try:
        answer = await _open_answer(worker, request, target, passed_on)
    except UpstreamError as error:
        await relay.refuse(error)
        return
    try:
        await relay.carry(answer)
    except UpstreamError as error:
        await relay.refuse(error)
    finally:
        answer.close()


async def _open_answer(worker: Worker, request: ModelRequest, target: Target, passed_on: dict[str, str]) -> Answer:
    if target.lane is Lane.RAW:
        return await open_raw(worker.client, target, request.body_for(target.model), passed_on)
    return await open_translated(target, request.fields, settings.UPSTREAM_SILENCE_SECONDS)


async def _until_client_leaves(
    call: Coroutine[None, None, None], receive: ASGIReceiveCallable, stream: LiveStream
) -> None:
    """Run `call` to its end, or until the client closes its connection: upstream is closed at once then."""
    running = asyncio.ensure_future(call)
    leaving = asyncio.ensure_future(receive())
    try:
        await asyncio.wait((running, leaving), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        else:
            stream.outcome = Outcome.CLIENT_DISCONNECTED
    finally:
        for task in (running, leaving):
            task.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


def _close_stream(worker: Worker, stream: LiveStream) -> None:
    stream.outcome = stream.outcome or Outcome.INTERRUPTED
    stream.ended_at = worker.observers.clock.now()
    worker.observers.recorder.append(recording.closed(stream, stream.ended_at))
    worker.observers.feed.closed(stream)
