"""Response streams as blocks and events, as a library: no settings, no Django and no server, only msgspec.

docs/library.md has examples. The names here are stable; anything else in the project may change with any release.
"""

from collections.abc import Callable
from time import time_ns

from streamviz.core.aggregator import Chunk
from streamviz.core.blocks import StreamBlock
from streamviz.core.errors import AlreadyComplete, NothingAggregated
from streamviz.core.events import (
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.framing import AnyFraming
from streamviz.core.json_value import JsonObject
from streamviz.core.sse import SSEEvent
from streamviz.core.wire import AGGREGATORS, LINTERS

__all__ = [
    "FORMATS",
    "Aggregator",
    "AlreadyComplete",
    "BlockCompleted",
    "BlockDelta",
    "BlockKind",
    "BlockSealed",
    "BlockStarted",
    "JsonObject",
    "NothingAggregated",
    "StreamBlock",
    "StreamEvent",
    "StreamFailed",
    "StreamFinished",
    "UsageUpdated",
]

# Those whose answers can be streams.
FORMATS = tuple(sorted(LINTERS))


class Aggregator:
    """Reads one response's server-sent events, in one of FORMATS, as they arrive; or JSON, one object per line or a
    whole answer.

    `on_event` is called with each event, in order, once `blocks` includes it; what it raises reaches the caller that
    fed the bytes. Nothing limits how much is kept: that is up to the caller. Raises KeyError for an unknown format.
    """

    def __init__(self, wire_format: str, on_event: Callable[[StreamEvent], None] | None = None) -> None:
        if wire_format not in FORMATS:
            raise KeyError(f"there is no format {wire_format!r}: there are {', '.join(FORMATS)}")
        self._aggregator = AGGREGATORS[wire_format]()
        self._on_event = on_event
        self.clear()

    def clear(self) -> None:
        """Get ready for the next stream; nothing of the last one remains."""
        self._aggregator.clear()
        self._parser = AnyFraming()
        self._seq = 0

    def aggregate(self, data: bytes) -> list[StreamEvent]:
        """Take in the next bytes, in pieces of any size, and return the events that they complete. Raises
        AlreadyComplete after close() or build()."""
        if self._aggregator.is_complete:
            raise AlreadyComplete("this stream is complete: it takes no more")
        return self._take(self._parser.feed(data))

    def close(self) -> list[StreamEvent]:
        """End the input: complete and seal every block, as truncated if upstream did not say that it ended."""
        if self._aggregator.is_complete:
            return []
        return [*self._take(self._parser.close()), *self._tell(self._aggregator.close())]

    def build(self) -> JsonObject:
        """Close, and return the whole message as the format's answer without streaming. Raises NothingAggregated if
        nothing came."""
        self.close()
        return self._aggregator.build()

    @property
    def blocks(self) -> list[StreamBlock]:
        """All blocks so far, in the order in which they began; always the same objects, which grow."""
        return self._aggregator.state.blocks

    @property
    def finish_reason(self) -> str | None:
        """Why the first choice ended, in upstream's word; None until it has."""
        return self._aggregator.state.finish_reason

    @property
    def usage(self) -> JsonObject | None:
        """Tokens, as upstream counts and names them; None until it reports them."""
        return self._aggregator.state.usage

    @property
    def is_over(self) -> bool:
        """Whether upstream's final event has come: `[DONE]`, `message_stop`, the end of a response."""
        return self._aggregator.has_end_mark

    def _take(self, events: list[SSEEvent]) -> list[StreamEvent]:
        found: list[StreamEvent] = []
        for event in events:
            chunk = Chunk(self._seq, time_ns() // 1000, event.raw, event.data, event.name)
            self._seq += 1
            found += self._tell(self._aggregator.aggregate(chunk))
        return found

    def _tell(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """After the aggregation: what a callback raises concerns its caller, and is not a fault of the stream."""
        if self._on_event is not None:
            for event in events:
                self._on_event(event)
        return events
