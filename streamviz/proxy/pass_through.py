"""Everything else that a provider has under /v1: files, batches, images, audio, … These calls are not read, but they
are recorded, with sizes and times; a setting adds their bodies."""

from functools import partial

import aiohttp
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings
from yarl import URL

from streamviz.core.blocks import StreamState
from streamviz.core.context import Frame, SessionCounts
from streamviz.core.errors import ClientFacingError, NotRecorded, UpstreamError
from streamviz.core.json_value import encode
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import ActivePolicy
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.sse import SSEEvent
from streamviz.core.verdicts import Verdict
from streamviz.core.wire import PASSED_THROUGH
from streamviz.exchange import errors, recording
from streamviz.exchange.life import Event
from streamviz.exchange.stream import LiveStream
from streamviz.exchange.tape import Tape
from streamviz.logs import about_stream
from streamviz.proxy import hops, http, limiting
from streamviz.proxy.client_headers import end_to_end
from streamviz.proxy.destinations import Destination, destination_of, require_unjudged
from streamviz.proxy.leaving import Call, Race, leaving_of
from streamviz.proxy.passed_bodies import without_credentials_in
from streamviz.proxy.requests import read_aside
from streamviz.proxy.said import said_of
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.ids import uuid7
from streamviz.records.moments import Clock
from streamviz.records.privacy import shape_of
from streamviz.records.recorder import AnyEntry
from streamviz.records.tallies import Amounts
from streamviz.upstream.answer import BoundedAnswer
from streamviz.upstream.proxies import proxy_for
from streamviz.upstream.raw import FAILURES, MOST_OF_A_REFUSAL, RawAnswer, no_answer, refusal_without
from streamviz.upstream.redaction import told_headers

# What a browser shows of an answer can do nothing there.
_INERT = {"content-security-policy": "default-src 'none'; sandbox"}
_UNSAID = {"content-type": "application/json"}
_OF_FILES = ("content-disposition",)
Denial = tuple[ActivePolicy, Verdict]


async def pass_through(worker: Worker, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Pass one request through. Raises RequestError if it may not be."""
    clock = Clock()
    requested_at = clock.now()
    key = worker.authenticate(scope)
    require_unjudged(worker, key)
    worker.admit()
    body = await http.read_body(scope, receive)
    destination = await destination_of(worker, scope, body, key)
    stream = _opened(worker, scope, key, destination, clock, requested_at)
    stream.request = await _kept_request(scope, body)
    send = http.adding(send, {http.STREAM: str(stream.id)})
    passing = _Passing(worker, stream, clock, send)
    try:
        denied = await _denied(worker, stream)
        passing.begin()
    except BaseException:
        limiting.settle(worker, stream, SessionCounts())
        raise
    worker.observers.opened(stream)
    carry = partial(passing.carry, scope, destination, denied)
    try:
        await _until_over(carry, Race(leaving_of(scope, receive), passing, worker))
    finally:
        passing.close()


class _Passing:
    """One call in progress."""

    def __init__(self, worker: Worker, stream: LiveStream, clock: Clock, send: ASGISendCallable) -> None:
        self._worker = worker
        self.stream = stream
        self._clock = clock
        self._send = send
        self._life = stream.life
        self._tape = Tape(stream)

    def begin(self) -> None:
        """Record the request, and what policies said of it. Raises NotRecorded."""
        self.record(recording.opened(self.stream), *self._tape.take_entries())

    def record(self, *entries: AnyEntry) -> None:
        """Record entries. Raises NotRecorded if the call must not continue because part of it could not be recorded."""
        self._keep(*entries)
        if self._worker.observers.recorder.has_lost(self.stream.id):
            raise NotRecorded()

    def _keep(self, *entries: AnyEntry) -> None:
        recorder = self._worker.observers.recorder
        for entry in entries:
            recorder.append(entry)
        recorder.flush()

    async def carry(self, scope: HTTPScope, destination: Destination, denied: Denial | None) -> None:
        """Make the call, unless it is `denied`. Raises Denied, UpstreamError or NotRecorded, or CannotEnd if the client
        already has part of the answer."""
        if denied is not None:
            active, verdict = denied
            raise self._ended(Event.DENIED, f"{active.name}: {verdict.reason}", errors.denial(active, verdict))
        try:
            await self._carry(scope, destination)
        except (*FAILURES, UpstreamError, NotRecorded) as error:
            if self._life.is_ending:  # the client has left and is told nothing
                return
            raise self._failed(error, destination.target.provider) from error

    async def _carry(self, scope: HTTPScope, destination: Destination) -> None:
        headers = {"user-agent": "streamviz", **destination.headers, **end_to_end(scope), **hops.onward(scope)}
        if kind := http.header(scope, b"content-type"):
            headers["content-type"] = kind
        url = URL(destination.url, encoded=True)
        data = destination.body or None
        self._life.step(Event.FORWARDED)
        client = self._worker.client
        response = await client.request(
            scope["method"], url, data=data, headers=headers, allow_redirects=False, proxy=proxy_for(destination.url)
        )
        if why := _why_none(response.status):
            response.close()
            raise UpstreamError(502, f"upstream answered {response.status}{why}")
        assert client.timeout.sock_read is not None  # as set by new_client
        raw = RawAnswer(response, client.timeout.sock_read, destination.target.key)
        answer = BoundedAnswer(raw, settings.ANSWER_BOUNDS)
        try:
            await self._answer(answer, response, destination.target.key)
        finally:
            answer.close()

    async def _answer(self, answer: BoundedAnswer, response: aiohttp.ClientResponse, key: str) -> None:
        if self._life.is_ending:
            return
        self._life.step(Event.ANSWERED)
        stream = self.stream
        stream.status = response.status
        head = {**_UNSAID, **told_headers(response.headers, key, _OF_FILES), **_INERT}
        if response.status >= 400:
            refusal = refusal_without(key, await _whole(answer))
            await self._begin(head)
            await self._pass(refusal)
        else:
            await self._begin(head)
            async for piece in answer:
                await self._pass(piece)
        if not self._life.is_ending:
            await http.body(self._send, b"")
            self._over(*((Event.DRAINED, Event.COMPLETED) if response.status < 400 else (Event.FAILED,)), Event.SENT)

    async def _begin(self, head: dict[str, str]) -> None:
        if self._life.is_ending:
            return
        self._life.step(Event.BEGAN)
        await http.start(self._send, self.stream.status or 200, head)

    async def _pass(self, piece: bytes) -> None:
        """Pass on one piece, recorded before the client gets it."""
        if self._life.is_ending:
            return
        stream = self.stream
        [chunk] = self._tape.receive([SSEEvent(piece, None)])
        stream.times.upstream_first_at = stream.times.upstream_first_at or chunk.received_at
        entries = self._tape.take_entries([Frame(piece, chunk.seq)])
        self.record(*(entries if settings.STORE_PASSED_THROUGH else map(shape_of, entries)))
        stream.times.client_first_at = stream.times.client_first_at or stream.times.last_sent_at
        self._worker.observers.feed.changed(stream)
        await http.body(self._send, piece, more=True)

    def _failed(self, error: Exception, provider: str) -> Exception:
        if isinstance(error, NotRecorded):
            return self._ended(Event.BROKE, error.message, error)
        told = error if isinstance(error, UpstreamError) else no_answer(error, provider)
        return self._ended(Event.FAILED, told.message, told)

    def _stop(self, end: Event, why: str, error: ClientFacingError) -> None:
        """End the call. Raises what the client is to be told, unless it has its whole answer."""
        if not self._life.is_ending:
            raise self._ended(end, why, error)

    def _ended(self, end: Event, why: str, error: ClientFacingError) -> Exception:
        """Note how the call ends, and return what to raise so that the client is told, as far as that is possible."""
        self._over(end, error=why)
        if self._life.has_begun:
            return http.CannotEnd(why)
        self.stream.status = error.status
        error.headers[http.STREAM] = str(self.stream.id)
        return error

    @property
    def has_sent_answer(self) -> bool:
        """Whether the client has its whole answer."""
        return self._life.is_over

    def cancelled(self, by: str) -> None:
        self._stop(Event.CANCELLED, f"cancelled by {by}", errors.cancellation())

    def revoked(self) -> None:
        self._stop(Event.REVOKED, "its key was revoked", errors.revocation())

    def stopped(self) -> None:
        self._stop(Event.STOPPED, "streamviz was stopped", errors.stop())

    def away(self) -> None:
        """Nothing is left to send."""

    def left(self, why: str) -> None:
        self._over(Event.LEFT, error=why or "the client left")

    def _over(self, *events: Event, error: str = "") -> None:
        """The call ends. The first reason stays, whatever follows from it: when its client has left, the call continues
        until it is its turn to end."""
        if not self._life.is_ending:
            self.stream.error = error
            for event in events:
                self._life.step(event)

    def close(self) -> None:
        stream = self.stream
        self._over(Event.DROPPED)
        if not self._life.is_over:
            self._life.step(Event.SENT)
        stream.ended_at = self._clock.now()
        limiting.count(self._worker, stream)
        self._keep(recording.closed(stream))
        self._life.step(Event.CLOSED)
        self._worker.observers.closed(stream)


async def _denied(worker: Worker, stream: LiveStream) -> Denial | None:
    """The policy that denies the call, as the key has used up its limits, and its verdict; None if none does."""
    policies = [each for each in worker.configuration.policies_of(stream.key_name) if each.policy.judges_unread]
    await limiting.reserve(worker, stream, policies, lambda: Amounts(0, 0.0))
    return RequestJudging(policies, stream.context.request, stream.context).denied


async def _until_over(call: Call, race: Race) -> None:
    """Run the call until it is over, its client leaves, its key is revoked, a person cancels it or the server stops.
    Raises what the client is to be told."""
    try:
        is_whole = await race.run(call)
    finally:
        race.close()
    if not is_whole and race.say is not None:
        race.say()


def _why_none(status: int) -> str:
    """Why an answer with this status is not an answer, as a clause; empty if it is one."""
    if 300 <= status < 400:
        return ", a redirect, which is not followed"
    return "" if 200 <= status < 600 else ", which no client knows"


async def _whole(answer: BoundedAnswer) -> bytes:
    """A refusal's body; empty if it is too long to mean anything."""
    body = b""
    async for piece in answer:
        body += piece
        if len(body) > MOST_OF_A_REFUSAL:
            return b""
    return body


async def _kept_request(scope: HTTPScope, body: bytes) -> bytes:
    """What is recorded of a request: what was asked and its length, and its body if a setting says so, without the
    credentials that it contains for others."""
    kind = http.header(scope, b"content-type")
    what = kind.partition(";")[0]
    asked: dict[str, object] = {"method": scope["method"], "path": scope["path"], "type": what, "bytes": len(body)}
    if settings.STORE_PASSED_THROUGH:
        asked["body"] = (await read_aside(body, partial(without_credentials_in, kind=kind))).decode("utf-8", "replace")
    return encode(asked)


def _opened(
    worker: Worker, scope: HTTPScope, key: KnownKey, destination: Destination, clock: Clock, requested_at: int
) -> LiveStream:
    said = said_of(PASSED_THROUGH, scope, {})
    state, stream_id = StreamState(), uuid7()
    about_stream(stream_id)
    call = ModelCall(PASSED_THROUGH.name, {"model": destination.model})
    stream = LiveStream(
        id=stream_id,
        session_id=worker.sessions.named(key.told_apart_by, said.session),
        session_label="",
        key_id=key.id,
        key_name=key.name,
        endpoint=scope["path"],
        wire_format=PASSED_THROUGH.name,
        is_streaming=False,
        requested_model=destination.model,
        upstream_model=destination.target.model,
        provider=destination.target.provider,
        requested_at=requested_at,
        state=state,
        context=ChainContext(str(stream_id), clock.now, call, state=state, began_at=requested_at),
        client=said.client[0],
    )
    said.keep_names(stream, worker.configuration.policies_of_all())
    return stream
