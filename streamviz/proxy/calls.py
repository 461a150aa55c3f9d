"""POST /v1/chat/completions."""

import asyncio
from collections.abc import Coroutine

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

from streamviz.core.errors import UpstreamError
from streamviz.core.policy import StreamingContext
from streamviz.core.wire.openai_chat import OpenAIChatAggregator
from streamviz.live.streams import LiveStream
from streamviz.proxy import http, recording
from streamviz.proxy.relay import Relay
from streamviz.proxy.requests import ChatRequest, read_chat_request
from streamviz.proxy.worker import Worker
from streamviz.records.ids import uuid7
from streamviz.records.models import Outcome
from streamviz.records.standing import KnownKey
from streamviz.upstream.answer import Answer
from streamviz.upstream.raw import open_raw
from streamviz.upstream.targets import Lane, Target
from streamviz.upstream.translated import open_translated, require_translatable

ENDPOINT = "/v1/chat/completions"


async def chat_completions(
    worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable
) -> None:
    """Proxy one chat call. Raises RequestError for a request that never becomes a stream."""
    requested_at = worker.observers.clock.now()
    key = worker.authenticate(http.header(scope, b"authorization"))
    request = read_chat_request(await http.read_body(receive))
    target = await worker.target_for(request.model)
    if target.lane is Lane.TRANSLATED:
        require_translatable(target, request.fields)
    aggregator = OpenAIChatAggregator(run_id=ENDPOINT)
    stream = _open_stream(worker, scope, request, target, key, aggregator, requested_at)
    policies = worker.standing.policies_for(request.model, key.name)
    relay = Relay(stream, aggregator, policies, worker.observers, send)
    worker.observers.recorder.append(recording.opened(stream))
    worker.observers.feed.opened(stream)
    try:
        await _until_client_leaves(_call(worker, request, target, relay), receive, stream)
    finally:
        _close_stream(worker, stream)


def _open_stream(
    worker: Worker,
    scope: HTTPScope,
    request: ChatRequest,
    target: Target,
    key: KnownKey,
    aggregator: OpenAIChatAggregator,
    requested_at: int,
) -> LiveStream:
    session = worker.sessions.find(request.fields, key.name, http.header(scope, b"x-session-id"))
    client = scope["client"]
    stream_id = uuid7()
    return LiveStream(
        id=stream_id,
        session_id=session.id,
        session_label=session.label,
        key_id=key.id,
        key_name=key.name,
        endpoint=ENDPOINT,
        wire_format="openai_chat",
        is_streaming=request.is_streaming,
        requested_model=request.model,
        upstream_model=target.model,
        provider=target.provider,
        requested_at=requested_at,
        state=aggregator.state,
        context=StreamingContext(str(stream_id), worker.observers.clock.now),
        client=client[0] if client else "",
        user_agent=http.header(scope, b"user-agent"),
        request=request.body,
    )


async def _call(worker: Worker, request: ChatRequest, target: Target, relay: Relay) -> None:
    try:
        answer = await _open_answer(worker, request, target)
    except UpstreamError as error:
        await relay.refuse(error)
        return
    try:
        await relay.carry(answer)
    finally:
        answer.close()


async def _open_answer(worker: Worker, request: ChatRequest, target: Target) -> Answer:
    if target.lane is Lane.RAW:
        return await open_raw(worker.client, target, request.body_for(target.model))
    return await open_translated(target, request.fields)


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
