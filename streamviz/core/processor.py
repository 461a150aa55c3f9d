"""The stream processor: takes chunks in and calls back once for each, with the resulting state."""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from functools import partial

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.errors import UpstreamError
from streamviz.core.events import (
    CONTRADICTION,
    MALFORMED_CHUNK,
    PROCESSING_ERROR,
    BlockDelta,
    BlockStarted,
    StreamFailed,
)
from streamviz.core.json_value import JsonObject
from streamviz.core.judgements import ChainContext
from streamviz.core.policy import Aside, at_once

# Reading this many takes some ms if they are thousands of JSON values.
LONG_BYTES = 8_000

OnChunk = Callable[[Chunk | None, StreamState, ChainContext], Awaitable[None]]


async def pass_through(chunk: Chunk | None, state: StreamState, context: ChainContext) -> None:
    """The callback of a stream on which no policy acts."""
    if chunk is not None:
        context.send(chunk)


class StreamProcessor:
    """Keeps a stream's state and calls `on_chunk(chunk, state, context)` for each chunk once the state has taken it in.

    At the end of input it calls back once more with None as the chunk: blocks that nothing else ended are complete
    then. With `is_enforcing`, if a policy acts on the stream, members that its format does not have and that contain
    text are left out of chunks, and the stream ends before a chunk that contradicts what came before, or on which
    streamviz itself fails. Long chunks are read `aside`, as far as that changes nothing that others see.
    """

    def __init__(
        self,
        on_chunk: OnChunk,
        aggregator: Aggregator[Chunk, JsonObject],
        *,
        is_enforcing: bool = False,
        aside: Aside = at_once,
    ) -> None:
        self._on_chunk = on_chunk
        self._aggregator = aggregator
        self._is_enforcing = is_enforcing
        self._aside = aside

    @property
    def state(self) -> StreamState:
        return self._aggregator.state

    @property
    def broken_by(self) -> StreamFailed | None:
        """Why nobody can judge a chunk: it cannot be read, or may be read in two ways. Neither it nor what follows goes
        on. None if there has been no such chunk."""
        state = self._aggregator.state
        if not state.is_suspect:
            return None
        failure = state.failure
        if failure is not None and failure.kind == MALFORMED_CHUNK:
            return failure
        if self._is_enforcing and state.fault:
            return StreamFailed(state.fault, kind=PROCESSING_ERROR)
        if self._is_enforcing and state.contradiction:
            return StreamFailed(state.contradiction, kind=CONTRADICTION)
        return None

    @property
    def is_broken(self) -> bool:
        """Whether nothing more is taken in, because of such a chunk."""
        return self.broken_by is not None

    async def take(self, chunks: Iterable[Chunk], context: ChainContext) -> None:
        """Take in chunks that came together, until the context is terminated or the stream is broken."""
        state = self._aggregator.state
        for each in chunks:
            if context.is_terminated or (state.is_suspect and self.is_broken):
                return
            chunk = self._aggregator.as_read(each)
            if chunk.data is not None and len(chunk.data) > LONG_BYTES:
                await self._aside(partial(self._aggregator.prepare, chunk, leave_out=self._is_enforcing))
            elif self._is_enforcing:
                self._aggregator.prepare(chunk, leave_out=True)
            chunk = self._aggregator.prepared(chunk)
            try:
                self._aggregator.aggregate(chunk)
                if not (state.is_suspect and self.is_broken):
                    await self._on_chunk(chunk, state, context)
            except UpstreamError:
                self._pass_over()
                raise
            if state.is_suspect and self.is_broken:
                self._pass_over()

    def _pass_over(self) -> None:
        """Note that nothing of the latest chunk goes on."""
        self._aggregator.forget()
        self._note_spoilt()

    def _note_spoilt(self) -> None:
        state = self._aggregator.state
        told = {event.ordinal for event in state.events if isinstance(event, BlockStarted | BlockDelta)}
        state.spoilt = state.spoilt | told

    async def end(self, context: ChainContext) -> None:
        """End the input, or the reading of it."""
        self._aggregator.close()
        if self.is_broken:
            self._note_spoilt()
        if not context.is_terminated:
            await self._on_chunk(None, self._aggregator.state, context)

    async def process(self, incoming: AsyncIterable[Chunk], context: ChainContext) -> None:
        """Take in all of `incoming`, then its end; what is to be sent is in the context's outbox."""
        async for chunk in incoming:
            await self.take((chunk,), context)
            if context.is_terminated or self.is_broken:
                break
        await self.end(context)
