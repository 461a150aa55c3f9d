"""The stream processor: takes chunks in and calls back once for each, with the state that it led to."""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.context import StreamingContext
from streamviz.core.events import MALFORMED_CHUNK
from streamviz.core.json_value import JsonObject

OnChunk = Callable[[Chunk | None, StreamState, StreamingContext], Awaitable[None]]


async def pass_through(chunk: Chunk | None, state: StreamState, context: StreamingContext) -> None:
    """The callback of a stream on which no policy acts."""
    if chunk is not None:
        context.send(chunk)


class StreamProcessor:
    """Keeps a stream's state and calls `on_chunk(chunk, state, context)` for each chunk once the state has taken it in.

    At the end of input it calls back once more with None as the chunk: blocks that nothing else ended complete then.
    """

    def __init__(self, on_chunk: OnChunk, aggregator: Aggregator[Chunk, JsonObject]) -> None:
        self._on_chunk = on_chunk
        self._aggregator = aggregator

    @property
    def state(self) -> StreamState:
        return self._aggregator.state

    @property
    def is_broken(self) -> bool:
        """Whether a chunk came that cannot be read: nobody can judge it, so neither it nor what follows goes on."""
        failure = self._aggregator.state.failure
        return failure is not None and failure.kind == MALFORMED_CHUNK

    async def take(self, chunks: Iterable[Chunk], context: StreamingContext) -> None:
        """Take in chunks that came together, until the context is terminated or the stream is broken."""
        state = self._aggregator.state
        for chunk in chunks:
            if context.is_terminated or self.is_broken:
                return
            self._aggregator.aggregate(chunk)
            if state.failure is None or not self.is_broken:
                await self._on_chunk(chunk, state, context)

    async def end(self, context: StreamingContext) -> None:
        """The end of input, or of reading it."""
        self._aggregator.close()
        if not context.is_terminated:
            await self._on_chunk(None, self._aggregator.state, context)

    async def process(self, incoming: AsyncIterable[Chunk], context: StreamingContext) -> None:
        """Take in all of `incoming`, then its end; what is to be sent is in the context's outbox."""
        async for chunk in incoming:
            await self.take((chunk,), context)
            if context.is_terminated or self.is_broken:
                break
        await self.end(context)
