"""The relay: the one driver loop. It awaits, and does what the core decides."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from asgiref.typing import ASGISendCallable
from django.conf import settings

from streamviz.bounded import rest, within
from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.bounds import Bounds
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.context import Frame, StreamingContext
from streamviz.core.errors import ClientFacingError, NotRecorded, RequestError, Unavailable, UpstreamError
from streamviz.core.events import MALFORMED_CHUNK, PROCESSING_ERROR, StreamFailed
from streamviz.core.json_value import JsonObject
from streamviz.core.masking import kept_text, kept_values, masking
from streamviz.core.policy import ActivePolicy, Verdict
from streamviz.core.processor import StreamProcessor, pass_through
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.sse import SSEEvent, SSEParser
from streamviz.live.feed import Feed
from streamviz.live.streams import LiveStream
from streamviz.proxy import http, recording
from streamviz.proxy.beginnings import Begun, are_events, has_events
from streamviz.proxy.clock import Clock
from streamviz.proxy.driver import Driver, Helpers
from streamviz.proxy.formats import WireFormat
from streamviz.proxy.turns import InTurns, Turns
from streamviz.records.masked import Masked
from streamviz.records.models import Outcome
from streamviz.records.recorder import CANCELLED, OURSELVES, AnyEntry, ChunksReceived, FramesSent, Recorder
from streamviz.upstream.answer import Answer

log = logging.getLogger(__name__)

# A client that takes so long to take what it was sent is not reading.
_SLOW_US = 250_000
_UNASKED = "upstream answered with events to a request that asks for none"
_TWOFOLD = "upstream answered with something that can be read as events and as JSON"
# Longer ones would take too long to be masked.
_LONGEST_ERROR = 20_000


@dataclass(frozen=True)
class Observers:
    """Who is told of a stream besides its client: the record, which must have everything, and the live feed."""

    recorder: Recorder
    feed: Feed
    clock: Clock

    def masked_by(self, policies: Sequence[ActivePolicy], context: StreamingContext) -> Self:
        """The same for a stream whose answer these policies mask: the record does not get what they mask."""
        return replace(self, recorder=Masked(self.recorder, policies, context)) if policies else self


class Relay:
    """Carries one answer from upstream to its client."""

    def __init__(
        self,
        stream: LiveStream,
        wire_format: WireFormat,
        aggregator: Aggregator[Chunk, JsonObject],
        policies: Sequence[ActivePolicy],
        observers: Observers,
        helpers: Helpers,
        send: ASGISendCallable,
        floods: Turns,
    ) -> None:
        self._stream = stream
        self._format = wire_format
        self._aggregator = aggregator
        self.policies = policies
        self.masking = masking(policies)
        self._observers = observers
        self._send = send
        self._bounds: Bounds = settings.ANSWER_BOUNDS
        self._floods = floods
        self._has_begun = False
        self._judged = 0
        self._last: Frame | None = None
        kind = "text/event-stream" if stream.is_streaming else "application/json"
        self._head: tuple[int, Mapping[str, str]] = (200, {"content-type": kind})
        self._composer = wire_format.composer(aggregator.head) if stream.is_streaming else wire_format.body_composer({})
        self.driver = Driver(stream, observers.clock, helpers, self._keep_alive, self._flush)

    @property
    def has_sent_all(self) -> bool:
        """Whether the client has the stream to its last word; only the end of the response may still be to come."""
        stream, chain = self._stream, self.driver.chain
        is_over = self._aggregator.has_end_mark or stream.context.is_terminated
        is_sent = stream.sending_since is None and not stream.context.outbox
        return is_over and is_sent and (chain is None or not chain.is_holding)

    def record(self, entry: AnyEntry) -> None:
        """Tell the record, and have it kept."""
        self._observers.recorder.append(entry)
        self._observers.recorder.flush()

    def adopt(self, policies: Sequence[ActivePolicy], recorder: Recorder) -> None:
        """Another model is called than was asked for: these are its policies. `recorder` gets what they leave."""
        self.policies, self.masking = policies, masking(policies)
        observers = replace(self._observers, recorder=recorder)
        self._observers = observers.masked_by(self.masking, self._stream.context)

    def judge(self, call: ModelCall, but: Collection[str] = ()) -> RequestJudging:
        """Have the policies judge the request, `but` those of these names, as far as that needs nobody else."""
        asked = [active for active in self.policies if active.name not in but]
        self.driver.request = RequestJudging(asked, call, self._stream.context)
        return self.driver.request

    async def judged(self) -> bool:
        """Wait until all are heard, and put the request as it is to go upstream into the stream's context. False where
        it was denied and the client knows."""
        judging = self.driver.request
        assert judging is not None
        await self.driver.settle()
        self._stream.context.request = judging.call
        if judging.denied is not None:
            active, verdict = judging.denied
            self._stream.outcome, self._stream.error = Outcome.HALTED, f"{active.name}: {verdict.reason}"
            await self._tell(denial(active, verdict))
            return False
        return True

    def kept(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The client's headers as they may go upstream."""
        return kept_values(headers, self.policies)

    async def cancelled(self, by: str) -> None:
        """A person stopped the stream: end it legally for the client, with nothing of what was held."""
        self._stream.outcome, self._stream.error = Outcome.HALTED, f"cancelled by {by}"
        await self._tell(RequestError(403, CANCELLED, code="cancelled"))

    async def revoked(self) -> None:
        """The key was revoked that the stream was asked for with: as above."""
        self._stream.outcome, self._stream.error = Outcome.HALTED, "its key was revoked"
        kind = "authentication_error"
        await self._tell(RequestError(401, "The API key was revoked.", kind=kind, code="invalid_api_key"))

    async def stopped(self) -> None:
        """The server stops, and waits no longer: as above."""
        self._stream.outcome, self._stream.error = Outcome.INTERRUPTED, "streamviz was stopped"
        await self._tell(Unavailable("streamviz was stopped"))

    async def refuse(self, error: ClientFacingError) -> None:
        """There is no answer: tell the client why, in upstream's words where it said any."""
        error = kept_error(error, self.policies)
        self._stream.outcome, self._stream.error = Outcome.UPSTREAM_ERROR, error.message
        if isinstance(error, UpstreamError) and error.body:
            self._chunks_of([SSEEvent(error.body, None)])
        await self._tell(error)

    async def break_off(self, error: ClientFacingError) -> None:
        """It cannot go on, for a reason of our own: the client is told. Where what comes next cannot be recorded, that
        alone is not on its tape."""
        self._stream.outcome, self._stream.error = Outcome.INTERRUPTED, error.message
        await self._tell(error)

    def require_record(self) -> None:
        """Raises NotRecorded where what the client would get next is not in the record."""
        if self._observers.recorder.has_lost(self._stream.id):
            raise NotRecorded

    async def _tell(self, error: ClientFacingError) -> None:
        """Raises CannotEnd where a whole answer has begun, with white space."""
        self._stream.status = error.status
        if self._has_begun and not self._stream.is_streaming:
            self._keep_record()
            raise http.CannotEnd(error.message)
        if self._has_begun:
            await self._send_made(self._last_words(StreamFailed(error.message, error.kind, error.code or "")))
            await http.body(self._send, b"")
            return
        status, headers, body = self._format.error_answer(error)
        is_upstreams = isinstance(error, UpstreamError) and body == error.body
        self._record_frames([Frame(body, 0) if is_upstreams else Frame(body, None, OURSELVES)])
        self._keep_record()
        await http.respond(self._send, status, headers, body)

    async def carry(self, answer: Answer) -> None:
        """Carry an answer to its end, whatever that is, and set the stream's outcome.

        Raises UpstreamError where it breaks off and the client has nothing of it yet.
        """
        stream = self._stream
        stream.status = answer.status
        self._head = (answer.status, answer.headers)
        says_events = "text/event-stream" in answer.headers.get("content-type", "").lower()
        if says_events and stream.is_streaming:
            await self._begin()
        reads = InTurns(answer, self._floods)
        begun = Begun(self.driver.reads(reads) if self.policies else reads)
        if are_events(await begun.look(), says_events, stream.is_streaming):
            await self._carry_events(begun)
        else:
            await self._carry_body(begun)

    def _note_outcome(self, failure: StreamFailed | None) -> None:
        """With no policy to be got round, what upstream or streamviz did wrong is worth a mark, but no failure."""
        stream = self._stream
        stream.error = failure.message if failure else stream.state.fault or stream.state.contradiction
        if stream.context.halted_by:
            stream.outcome = Outcome.HALTED
        elif failure is None:
            stream.outcome = Outcome.COMPLETED
        else:
            is_ours = failure.kind == PROCESSING_ERROR
            stream.outcome = Outcome.INTERRUPTED if is_ours else Outcome.UPSTREAM_ERROR

    def abandon(self) -> None:
        """Nobody reads on: note what the policies found so far, and ask nobody any more."""
        if self.driver.chain is not None:
            self.driver.chain.abandon(self._stream.context)
        self.driver.close()
        self._keep_record()

    def let_go(self) -> None:
        """It is over. The driver and the relay hold each other, and all of the stream, until the collector comes by,
        which is seldom."""
        del self.driver

    async def _carry_events(self, answer: Begun) -> None:
        composer = self._composer = self._format.composer(self._aggregator.head)
        processor = self._processor(composer)
        if not self._stream.is_streaming and self._is_enforcing:
            # Clients take it for text, comments and all, which nobody judges.
            self._composer = self._format.body_composer({})
            raise UpstreamError(502, _UNASKED)
        parser = SSEParser()
        failure = None
        await self._begin()
        try:
            async for data in answer:
                await self._take(processor, parser.feed(data))
                self._bounds.require_event(parser.waiting)
                if self._stream.context.is_terminated or processor.is_broken:
                    break
        except UpstreamError as error:
            if not self._aggregator.has_end_mark:
                failure = StreamFailed(error.message, error.kind)
        rest = parser.close()
        if failure is None:
            await self._take(processor, rest)
        elif rest:
            self._chunks_of(rest)  # half an event: it is recorded, and would spoil the error that follows
        await self.driver.alive_during(processor.end(self._stream.context))
        await self._flush()
        await self.driver.settle()
        await self._flush()
        await self._end(failure or self._unfinished(processor))

    def _unfinished(self, processor: StreamProcessor) -> StreamFailed | None:
        """What is wrong with a stream that upstream ended, where upstream did not say so itself."""
        state = self._stream.state
        if self._stream.context.halted_by:
            return None
        if processor.is_broken or state.failure is not None or state.fault:
            return processor.broken_by
        if state.is_truncated and not self._aggregator.has_end_mark:
            return StreamFailed("upstream closed the stream before it was finished", "upstream_error")
        return None

    async def _end(self, failure: StreamFailed | None) -> None:
        if failure is not None:
            await self._send_made(self._last_words(failure))
        await http.body(self._send, b"")
        self._note_outcome(failure or self._stream.state.failure)

    def _last_words(self, failure: StreamFailed) -> bytes:
        """The frames that end a broken stream."""
        try:
            return self._composed_end(failure)
        except Exception:  # What broke the stream can have broken its composer; a new one knows an error's own frames.
            log.exception("the end of stream %s could not be composed", self._stream.id)
            return self._format.composer({}).fail(failure)

    def _composed_end(self, failure: StreamFailed) -> bytes:
        """A composer that had nothing to do learns first what went through."""
        if not self.policies and self._last is not None:
            [event] = SSEParser().feed(self._last.raw) or [SSEEvent(self._last.raw, None)]
            self._composer.catch_up(self._aggregator, Chunk(self._last.seq or 0, 0, event.raw, event.data, event.name))
        return self._composer.fail(failure)

    async def _carry_body(self, answer: Begun) -> None:
        raw = b"".join([piece async for piece in answer])
        composer = self._composer = self._format.body_composer(self._aggregator.body)
        processor = self._processor(composer)
        chunks = self._chunks_of([SSEEvent(raw, raw)])
        await self.driver.alive_during(processor.take(chunks, self._stream.context))
        await self.driver.alive_during(processor.end(self._stream.context))
        await self.driver.settle()
        is_twofold = self._stream.is_streaming and self._is_enforcing and has_events(raw)
        if not raw or is_twofold or processor.broken_by is not None:
            self._stream.context.outbox.clear()
            if self._stream.is_streaming:
                # Clients that asked for events find no other error.
                self._composer = self._format.composer({})
            raise UpstreamError(502, _TWOFOLD if is_twofold else _why_unreadable(processor.broken_by))
        self._stream.upstream_first_at = chunks[0].received_at
        await self._begin()
        await self._flush()
        await http.body(self._send, b"")
        self._note_outcome(self._stream.state.failure)

    @property
    def _is_enforcing(self) -> bool:
        chain = self.driver.chain
        return chain is not None and chain.is_enforcing

    def _processor(self, composer: Composer) -> StreamProcessor:
        if not self.policies:
            return StreamProcessor(pass_through, self._aggregator)
        chain = self.driver.chain = PolicyChain(self.policies, composer, within, rest)
        return StreamProcessor(chain.on_chunk, self._aggregator, is_enforcing=chain.is_enforcing)

    async def _begin(self) -> None:
        """Send the response's head: upstream's where it has answered."""
        if not self._has_begun:
            self._has_begun = True
            status, headers = self._head
            await http.start(self._send, status, {**headers})

    async def _keep_alive(self) -> None:
        """Show the client that the connection lives, while a policy keeps it waiting."""
        self.require_record()
        await self._begin()
        await self._send_made(self._composer.keep_alive())

    async def _take(self, processor: StreamProcessor, events: Sequence[SSEEvent]) -> None:
        """Take in the events of one read, and let out what they allow."""
        if not events:
            return
        stream = self._stream
        chunks = self._chunks_of(events)
        await self.driver.alive_during(processor.take(chunks, stream.context))
        if stream.upstream_first_at is None and stream.state.blocks:
            stream.upstream_first_at = chunks[0].received_at
        await self._flush()

    def _chunks_of(self, events: Sequence[SSEEvent]) -> list[Chunk]:
        """The events of one read, numbered, timed and recorded."""
        stream = self._stream
        now = self._observers.clock.now()
        first = len(stream.received_at)
        chunks = [Chunk(first + n, now, event.raw, event.data, event.name) for n, event in enumerate(events)]
        stream.received_at.extend([now] * len(chunks))
        recorder = self._observers.recorder
        recorder.append(ChunksReceived.of(stream.id, chunks))
        if self.driver.chain is not None and self.driver.chain.may_wait:
            recorder.flush()  # a policy may keep them for long
        return chunks

    async def _flush(self) -> None:
        """Send what may go, once it is in the record."""
        context = self._stream.context
        self._observers.feed.changed(self._stream)
        frames, context.outbox = context.outbox, []
        if not frames:
            self._keep_record()
            return
        self._last = frames[-1]
        self._record_frames(frames)
        self._keep_record()
        self.require_record()
        if not self._has_begun:
            await self._begin()
        await self._deliver(frames[0].raw if len(frames) == 1 else b"".join([frame.raw for frame in frames]))

    async def _send_made(self, raw: bytes) -> None:
        self._record_frames([Frame(raw, None, OURSELVES)])
        self._keep_record()
        await self._deliver(raw)

    async def _deliver(self, raw: bytes) -> None:
        """Give bytes to the client's socket, which waits while that is full, and note where it took long."""
        stream = self._stream
        since = stream.sending_since = self._observers.clock.now()
        await http.body(self._send, raw, more=True)
        stream.sending_since = None
        if (now := self._observers.clock.now()) - since > _SLOW_US:
            stream.client_waits.append((since, now))

    def _keep_record(self) -> None:
        """Called before the client gets anything: what it gets, and why, is kept from here on."""
        judgements = self._stream.context.judgements
        if len(judgements) > self._judged:
            self._observers.recorder.append(recording.verdicts(self._stream, self._judged))
            self._judged = len(judgements)
        self._observers.recorder.flush()

    def _record_frames(self, frames: Sequence[Frame]) -> None:
        stream = self._stream
        now = self._observers.clock.now()
        self._observers.recorder.append(FramesSent.of(stream.id, stream.frame_count, now, frames))
        stream.frame_count += len(frames)
        stream.last_sent_at = now
        passed = [frame.seq for frame in frames if frame.seq is not None]
        stream.passed_seqs.extend(passed)
        stream.passed_at.extend([now] * len(passed))
        if stream.client_first_at is None and stream.state.blocks:
            first = stream.state.blocks[0].first_seq
            if any(_shows(frame, first) for frame in frames):
                stream.client_first_at = now


def kept_error(error: ClientFacingError, policies: Sequence[ActivePolicy]) -> ClientFacingError:
    """What may be recorded and told of an error: upstream's quote what they are about, so what policies mask is masked
    in them too."""
    if not policies or not isinstance(error, UpstreamError):
        return error
    body = error.body.decode("utf-8", "replace")
    message = kept_text(error.message[:_LONGEST_ERROR], policies)
    said = kept_text(body, policies) if len(body) <= _LONGEST_ERROR else ""
    if (message, said) == (error.message, body):
        return error
    return UpstreamError(error.status, message, kind=error.kind, headers=error.headers, body=said.encode())


def denial(active: ActivePolicy, verdict: Verdict) -> RequestError:
    """What a client is told whose request a policy denied."""
    message = verdict.text or f"The request was denied by policy {active.name}."
    return RequestError(403, message, kind="permission_error", code="denied_by_policy")


def _shows(frame: Frame, first: int) -> bool:
    """Whether the client sees something of a block in it; `first` is the first chunk of one."""
    return frame.origin != OURSELVES if frame.seq is None else frame.seq >= first


def _why_unreadable(failure: StreamFailed | None) -> str:
    if failure is None or failure.kind == MALFORMED_CHUNK:
        return "upstream answered with something that is not JSON"
    return failure.message
