"""The stream processor: takes chunks in and calls back once for each, with the state that it led to."""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.events import MALFORMED_CHUNK
from streamviz.core.json_value import JsonObject
from streamviz.core.policy import StreamingContext

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

    async def take(self, chunks: Iterable[Chunk], context: StreamingContext) -> None:
        """Take in chunks that came together, until the context is terminated.

        A chunk that cannot be read terminates it: nobody could judge what such a chunk says, so it goes no further.
        """
        state = self._aggregator.state
        for chunk in chunks:
            if context.is_terminated:
                return
            self._aggregator.aggregate(chunk)
            if state.failure is not None and state.failure.kind == MALFORMED_CHUNK:
                context.terminate()
                return
            await self._on_chunk(chunk, state, context)

    async def end(self, context: StreamingContext) -> None:
        """The end of input, or of reading it."""
        self._aggregator.close()
        await self._on_chunk(None, self._aggregator.state, context)

    async def process(self, incoming: AsyncIterable[Chunk], context: StreamingContext) -> None:
        """Take in all of `incoming`, then its end; what is to be sent is in the context's outbox."""
        async for chunk in incoming:
            await self.take((chunk,), context)
            if context.is_terminated:
                break
        await self.end(context)
