"""The relay: the one driver loop. It awaits, and does what the core decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from asgiref.typing import ASGISendCallable

from streamviz.bounded import within
from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.chain import PolicyChain
from streamviz.core.composer import Composer
from streamviz.core.context import Frame, StreamingContext
from streamviz.core.errors import ClientFacingError, RequestError, UpstreamError
from streamviz.core.events import MALFORMED_CHUNK, StreamFailed
from streamviz.core.json_value import JsonObject, as_object, decode
from streamviz.core.policy import ActivePolicy, Verdict
from streamviz.core.processor import OnChunk, StreamProcessor, pass_through
from streamviz.core.request import ModelCall
from streamviz.core.request_judging import RequestJudging
from streamviz.core.sse import SSEEvent, SSEParser
from streamviz.live.feed import Feed
from streamviz.live.streams import LiveStream
from streamviz.proxy import http, recording
from streamviz.proxy.clock import Clock
from streamviz.proxy.driver import Consulting, Driver
from streamviz.proxy.formats import WireFormat
from streamviz.records.masked import Masked
from streamviz.records.models import Outcome
from streamviz.records.recorder import OURSELVES, AnyEntry, ChunksReceived, FramesSent, Recorder
from streamviz.upstream.answer import Answer

# A client that takes so long to take what it was sent is not reading.
_SLOW_US = 250_000


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
        consulting: Consulting,
        send: ASGISendCallable,
    ) -> None:
        self._stream = stream
        self._format = wire_format
        self._aggregator = aggregator
        self._policies = policies
        self._observers = observers
        self._send = send
        self._has_begun = False
        self._judged = 0
        self._last: Frame | None = None
        kind = "text/event-stream" if stream.is_streaming else "application/json"
        self._head: tuple[int, Mapping[str, str]] = (200, {"content-type": kind})
        self._composer = wire_format.composer(aggregator.head) if stream.is_streaming else wire_format.body_composer({})
        self.driver = Driver(stream, observers.clock, consulting, self._keep_alive, self._flush)

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

    def judge(self, call: ModelCall) -> RequestJudging:
        """Have the policies judge the request as far as that needs nobody else."""
        self.driver.request = RequestJudging(self._policies, call, self._stream.context)
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

    async def cancelled(self, by: str) -> None:
        """A person stopped the stream: end it legally for the client, with nothing of what was held."""
        self._stream.outcome, self._stream.error = Outcome.HALTED, f"cancelled by {by}"
        await self._tell(RequestError(403, "The stream was cancelled by an operator.", code="cancelled"))

    async def refuse(self, error: ClientFacingError) -> None:
        """There is no answer: tell the client why, in upstream's words where it said any."""
        self._stream.outcome, self._stream.error = Outcome.UPSTREAM_ERROR, error.message
        if isinstance(error, UpstreamError) and error.body:
            self._chunks_of([SSEEvent(error.body, None)])
        await self._tell(error)

    async def _tell(self, error: ClientFacingError) -> None:
        self._stream.status = error.status
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
        if "text/event-stream" in answer.headers.get("content-type", ""):
            await self._carry_events(answer)
        else:
            await self._carry_body(answer)
        if stream.context.halted_by:
            stream.outcome = Outcome.HALTED
        else:
            stream.outcome = Outcome.UPSTREAM_ERROR if stream.error else Outcome.COMPLETED

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

    async def _carry_events(self, answer: Answer) -> None:
        composer = self._composer = self._format.composer(self._aggregator.head)
        processor = StreamProcessor(self._callback(composer), self._aggregator)
        parser = SSEParser()
        failure = None
        await self._begin()
        try:
            async for data in self.driver.reads(aiter(answer)) if self._policies else answer:
                await self._take(processor, parser.feed(data))
                if self._stream.context.is_terminated or processor.is_broken:
                    break
        except UpstreamError as error:
            if not self._aggregator.has_end_mark:
                failure = StreamFailed(error.message, error.kind)
        await self._take(processor, parser.close())
        await self.driver.alive_during(processor.end(self._stream.context))
        await self._flush()
        await self.driver.settle()
        await self._flush()
        await self._end(failure or self._unfinished())

    def _unfinished(self) -> StreamFailed | None:
        """What is wrong with a stream that upstream ended, where upstream did not say so itself."""
        state = self._stream.state
        if self._stream.context.halted_by:
            return None
        if state.failure is not None:
            return state.failure if state.failure.kind == MALFORMED_CHUNK else None
        if state.is_truncated and not self._aggregator.has_end_mark:
            return StreamFailed("upstream closed the stream before it was finished", "upstream_error")
        return None

    async def _end(self, failure: StreamFailed | None) -> None:
        if failure is not None:
            await self._send_made(self._last_words(failure))
        failure = failure or self._stream.state.failure
        self._stream.error = failure.message if failure else ""
        await http.body(self._send, b"")

    def _last_words(self, failure: StreamFailed) -> bytes:
        """The frames that end a broken stream. A composer that had nothing to do learns first what went through."""
        if not self._policies and self._last is not None:
            [event] = SSEParser().feed(self._last.raw) or [SSEEvent(self._last.raw, None)]
            self._composer.catch_up(self._aggregator, Chunk(self._last.seq or 0, 0, event.raw, event.data, event.name))
        return self._composer.fail(failure)

    async def _carry_body(self, answer: Answer) -> None:
        raw = b"".join([piece async for piece in answer])
        composer = self._composer = self._format.body_composer(_object_in(raw))
        processor = StreamProcessor(self._callback(composer), self._aggregator)
        chunks = self._chunks_of([SSEEvent(raw, raw)])
        await self.driver.alive_during(processor.take(chunks, self._stream.context))
        failure = self._stream.state.failure
        if not raw or (failure is not None and failure.kind == MALFORMED_CHUNK):
            raise UpstreamError(502, "upstream answered with something that is not JSON")
        await self.driver.alive_during(processor.end(self._stream.context))
        self._stream.upstream_first_at = chunks[0].received_at
        self._stream.error = failure.message if failure else ""
        await self.driver.settle()
        await self._begin()
        await self._flush()
        await http.body(self._send, b"")

    def _callback(self, composer: Composer) -> OnChunk:
        if not self._policies:
            return pass_through
        self.driver.chain = PolicyChain(self._policies, composer, within)
        return self.driver.chain.on_chunk

    async def _begin(self) -> None:
        """Send the response's head: upstream's where it has answered."""
        if not self._has_begun:
            self._has_begun = True
            status, headers = self._head
            await http.start(self._send, status, {**headers})

    async def _keep_alive(self) -> None:
        """Show the client that the connection lives, while a policy keeps it waiting."""
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


def denial(active: ActivePolicy, verdict: Verdict) -> RequestError:
    """What a client is told whose request a policy denied."""
    message = verdict.text or f"The request was denied by policy {active.name}."
    return RequestError(403, message, kind="permission_error", code="denied_by_policy")


def _shows(frame: Frame, first: int) -> bool:
    """Whether the client sees something of a block in it; `first` is the first chunk of one."""
    return frame.origin != OURSELVES if frame.seq is None else frame.seq >= first


def _object_in(raw: bytes) -> JsonObject:
    try:
        return as_object(decode(raw))
    except ValueError:
        return {}
