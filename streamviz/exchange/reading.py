"""How upstream's answer is read: as events, passed on as they come, or as one value, passed on whole."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.bounds import Bounds
from streamviz.core.chain import PolicyChain
from streamviz.core.errors import UpstreamError
from streamviz.core.events import StreamFailed
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import ActivePolicy, Aside, Bounded, Rest, at_once, no_rest
from streamviz.core.processor import StreamProcessor, pass_through
from streamviz.core.sse import BOM, EVENT_STREAM, SSEEvent, SSEParser
from streamviz.exchange import errors
from streamviz.exchange.life import Life, State
from streamviz.exchange.stream import LiveStream
from streamviz.exchange.tape import Tape
from streamviz.exchange.writing import Writing

# Finding the end of an event this long and recording it takes some ms, and so does what follows.
_LONG_EVENT_BYTES = 1_000_000
# After this many bytes of white space the content type decides: each empty line is an event, and all of them would be
# processed at once.
_LONGEST_BLANK = 1_000
_SPACE = b" \t\r\n"
_DATA = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])data(?=[:\r\n]|\Z)")
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


class Means(NamedTuple):
    """What an exchange is given to work with: limits on an answer's size, a time limit for what policies await, a way
    to yield to others, and a way to run long work elsewhere."""

    bounds: Bounds
    within: Bounded | None = None
    rest: Rest = no_rest
    aside: Aside = at_once


class Reading:
    """One answer, from its first byte until it is no longer read.

    The result is in the stream's context; `refusal` says why the client cannot have any of it.
    """

    def __init__(
        self,
        stream: LiveStream,
        aggregator: Aggregator[Chunk, JsonObject],
        tape: Tape,
        writing: Writing,
        policies: Sequence[ActivePolicy],
        means: Means,
    ) -> None:
        self.chain: PolicyChain | None = None
        self.refusal: UpstreamError | None = None
        # Whether nothing is sent until everything has arrived and been judged.
        self.is_whole = False
        # Whether anything that still arrives is ignored.
        self.is_broken = False
        self.is_drained = False
        self.is_advancing = False
        # Whether it ended in the middle of an event, which the client has received as it is.
        self.ends_amid_event = False
        self._stream = stream
        self._context = stream.context
        self._aggregator = aggregator
        self._tape = tape
        self._writing = writing
        self._policies = policies
        self._means = means
        self._says_events = False
        self._pieces: list[bytes] = []
        self._blank = 0
        self._parser: SSEParser | None = None
        self._processor: StreamProcessor | None = None
        self._pending: list[Chunk] = []
        self._failure: StreamFailed | None = None

    @property
    def comes_as_events(self) -> bool:
        """Whether the answer is events, as far as is known yet."""
        return self._parser is not None

    @property
    def has_begun(self) -> bool:
        """Whether the answer is known to be events, so that the client may have its head."""
        return self._parser is not None or (self._says_events and self._stream.is_streaming)

    def open(self, content_type: str) -> None:
        """The answer is about to come, and upstream says that it is of this type."""
        self._says_events = EVENT_STREAM in content_type.lower()

    def receive(self, data: bytes) -> None:
        """Take in the answer's next bytes."""
        if self._parser is not None:
            if events := self._parser.feed(data):
                self._pending += self._tape.receive(events)
        elif self._processor is not None:
            self._pieces.append(data)
        else:
            beginning = beginning_of(data, is_first=not self._pieces)
            self._pieces.append(data)
            self._blank += len(data)
            if beginning or self._blank > _LONGEST_BLANK:
                self._begin(beginning)

    def end(self, error: UpstreamError | None = None) -> None:
        """The answer ended or broke off, or is no longer read."""
        if self._processor is None:
            self._begin(b"")
        if error is not None:
            self._break_off(error)
        if self._parser is not None:
            # Half an event would spoil the error that follows or that upstream sent: it is recorded but not passed on.
            rest = self._chunks(self._parser.close())
            if not self.is_broken and self._stream.state.failure is None:
                self._pending += rest
                self.ends_amid_event = bool(rest)
        elif self.refusal is None:
            self._pieces = [b"".join(self._pieces)]
            self._pending += self._chunks([SSEEvent(self._pieces[0], self._pieces[0])])

    async def advance(self, life: Life) -> None:
        """Have the policies judge what arrived, and the end of the answer once nothing more will come."""
        chunks, self._pending = self._pending, []
        processor, times = self._processor, self._stream.times
        if processor is None or life.is_ending:
            return
        self.is_advancing = True
        try:
            if chunks:
                if len(chunks[0].raw) > _LONG_EVENT_BYTES:
                    await self._means.rest()
                await processor.take(chunks, self._context)
                self.is_broken = processor.is_broken
                if self._parser and times.upstream_first_at is None and self._stream.state.blocks:
                    times.upstream_first_at = chunks[0].received_at
            if self._parser is not None:
                self._means.bounds.require_event(self._parser.waiting)
                self._means.bounds.require_events(len(times.received_at))
        except UpstreamError as error:
            self._break_off(error)
        finally:
            self.is_advancing = False
        if life.state is State.SETTLING and self.refusal is None and not self.is_drained:
            await self._drain(processor)

    async def _drain(self, processor: StreamProcessor) -> None:
        self.is_advancing = True
        try:
            await processor.end(self._context)
            self.is_drained = True
        finally:
            self.is_advancing = False

    def ending(self) -> StreamFailed | None:
        """What is wrong with the answer if upstream did not say so itself, once all verdicts are in. For a whole answer
        that the client cannot have, `refusal` says why."""
        assert self._processor is not None
        if self._parser is None:
            self._judge_whole(self._processor)
            return None
        if self._context.halted_by:
            return None
        state = self._stream.state
        if self._failure is not None:
            return self._failure
        if self._processor.is_broken or state.failure is not None or state.fault:
            return self._processor.broken_by
        return errors.UNFINISHED if state.is_truncated and not self._aggregator.has_end_mark else None

    def _judge_whole(self, processor: StreamProcessor) -> None:
        [whole] = self._pieces
        if self._stream.is_streaming and self._is_enforcing and has_events(whole):
            self._refuse(UpstreamError(502, errors.TWOFOLD))
        elif not whole or processor.broken_by is not None:
            self._refuse(UpstreamError(502, errors.why_unreadable(processor.broken_by)))
        else:
            self._stream.times.upstream_first_at = self._stream.times.received_at[0]

    def _break_off(self, error: UpstreamError) -> None:
        """Stop reading. After upstream's last word this is not an error."""
        if self._parser is None:
            self._refuse(error)
            return
        self.is_broken = True
        if not self._aggregator.has_last_word:
            self._failure = errors.failed(errors.kept_error(error, self._policies))

    def _refuse(self, error: UpstreamError) -> None:
        """Refuse the whole answer. Clients that asked for events recognise errors only as events."""
        self.refusal = error
        self.is_broken = True
        self._writing.of_an_error(are_events=self._stream.is_streaming)

    def _begin(self, beginning: bytes) -> None:
        """Decide from its first bytes what the answer is."""
        is_asked = self._stream.is_streaming
        if not are_events(beginning, self._says_events, is_asked):
            self.is_whole = True
            self._writing.of_body()
            self._processor = self._made()
            return
        self._writing.of_events()
        self._processor = self._made()
        if not is_asked and self._is_enforcing:
            # Such clients take it all for text, comments included, which nobody judges.
            self._refuse(UpstreamError(502, errors.UNASKED))
            return
        self._parser = SSEParser()
        pieces, self._pieces = self._pieces, []
        for piece in pieces:
            self._pending += self._chunks(self._parser.feed(piece))

    def _made(self) -> StreamProcessor:
        if not self._policies:
            self._aggregator.is_judged = False
            return StreamProcessor(pass_through, self._aggregator, aside=self._means.aside)
        chain = self.chain = PolicyChain(self._policies, self._writing.composer, self._means.within, self._means.rest)
        self._context.begun = chain.begun
        return StreamProcessor(
            chain.on_chunk, self._aggregator, is_enforcing=chain.is_enforcing, aside=self._means.aside
        )

    def _chunks(self, events: Sequence[SSEEvent]) -> Sequence[Chunk]:
        return self._tape.receive(events) if events else ()

    @property
    def _is_enforcing(self) -> bool:
        return self.chain is not None and self.chain.is_enforcing


def beginning_of(data: bytes, is_first: bool) -> bytes:
    """What follows the white space in this read, if nothing else came before it."""
    return (data.removeprefix(BOM) if is_first else data).lstrip(_SPACE)


def are_events(beginning: bytes, says_so: bool, are_asked: bool) -> bool:
    """Whether an answer with this beginning is events; `says_so` is what its content type says, `are_asked` whether the
    request asked for events. If it looks like neither events nor JSON, the content type decides."""
    if beginning[:1] in (b"{", b"["):
        return False
    return says_so or (are_asked and beginning.startswith(_FIELDS))


def has_events(body: bytes) -> bool:
    """Whether clients that read events would find one in this body: a line with data."""
    return _DATA.search(body) is not None
