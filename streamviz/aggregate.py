"""Response streams read as blocks and events, as a library: no settings, no Django and no server, msgspec alone.

docs/library.md has examples. These names stay; what else the project has inside may move with any release.
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
from streamviz.core.wire import AGGREGATORS

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

FORMATS = tuple(sorted(AGGREGATORS))


class Aggregator:
    """One response's server-sent events, in one of FORMATS, as they come; or JSON, an object a line or a whole answer.

    `on_event` is called with each event, in order, once `blocks` has taken it in; what it raises, whoever feeds the
    bytes gets. Nothing bounds how much is kept: that is its caller's to do. Raises KeyError for another format.
    """

    def __init__(self, wire_format: str, on_event: Callable[[StreamEvent], None] | None = None) -> None:
        self._aggregator = AGGREGATORS[wire_format]()
        self._on_event = on_event
        self.clear()

    def clear(self) -> None:
        """Ready for the next stream; nothing of the last one is left."""
        self._aggregator.clear()
        self._parser = AnyFraming()
        self._seq = 0

    def aggregate(self, data: bytes) -> list[StreamEvent]:
        """Take the next bytes in, in whatever pieces they come, and give the events that they complete. Raises
        AlreadyComplete after close() or build()."""
        if self._aggregator.is_complete:
            raise AlreadyComplete("this stream is complete: it takes no more")
        return self._take(self._parser.feed(data))

    def close(self) -> list[StreamEvent]:
        """The end of input: completes and seals every block, truncated where upstream did not say that it ended."""
        if self._aggregator.is_complete:
            return []
        return [*self._take(self._parser.close()), *self._tell(self._aggregator.close())]

    def build(self) -> JsonObject:
        """Closes, and gives the whole message as the format's answer without streaming. Raises NothingAggregated where
        nothing came."""
        self.close()
        return self._aggregator.build()

    @property
    def blocks(self) -> list[StreamBlock]:
        """All so far, in the order in which they began; the same objects, which grow."""
        return self._aggregator.state.blocks

    @property
    def finish_reason(self) -> str | None:
        """Why the first choice ended, in upstream's word; None until it did."""
        return self._aggregator.state.finish_reason

    @property
    def usage(self) -> JsonObject | None:
        """Tokens, as upstream counts and words them; None until it told."""
        return self._aggregator.state.usage

    @property
    def is_over(self) -> bool:
        """Whether upstream's last word came: `[DONE]`, `message_stop`, the end of a response."""
        return self._aggregator.has_end_mark

    def _take(self, events: list[SSEEvent]) -> list[StreamEvent]:
        found: list[StreamEvent] = []
        for event in events:
            chunk = Chunk(self._seq, time_ns() // 1000, event.raw, event.data, event.name)
            self._seq += 1
            found += self._tell(self._aggregator.aggregate(chunk))
        return found

    def _tell(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """Behind the aggregation: what a callback raises is its caller's, and no fault of the stream."""
        if self._on_event is not None:
            for event in events:
                self._on_event(event)
        return events
