"""Turn stored chunks into events, each at the time it came; if not all chunks of a stream are kept, its blocks supply
the rest at the end."""

from collections.abc import Container, Iterator

from msgspec.structs import replace

from streamviz.core.blocks import StreamBlock
from streamviz.core.events import (
    MALFORMED_CHUNK,
    BlockCompleted,
    BlockDelta,
    BlockKind,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.json_value import as_object, decode
from streamviz.core.wire import AGGREGATORS
from streamviz.events.reports import PIECE
from streamviz.records.aggregation import aggregator_of, events_of
from streamviz.records.block_record import BlockRecord
from streamviz.records.recorder import StreamClosed
from streamviz.records.runs import StoredChunk


class Telling:
    """One stream: its chunks in order, then its end.

    A chunk may have no bytes, because a policy masks the answer or content is not kept, and old chunks may be gone.
    From the first such chunk on, nothing is told until the end, which has the blocks as far as they may be known. In a
    format that is not known here, of a newer release, no chunk can be read.
    """

    def __init__(self, wire_format: str) -> None:
        self._aggregator = aggregator_of(wire_format)
        self._next = 0
        self._has_lost = wire_format not in AGGREGATORS
        self._is_broken = False

    def take(self, chunk: StoredChunk) -> list[StreamEvent]:
        """The events of a chunk; anything after a chunk that cannot be read is ignored."""
        self._has_lost = self._has_lost or chunk.raw is None or chunk.seq != self._next
        self._next = chunk.seq + 1
        if self._has_lost or self._is_broken:
            return []
        said = (event for each in events_of(chunk) for event in self._aggregator.aggregate(each))
        events = [piece for event in said for piece in _pieces(event)]
        failure = self._aggregator.state.failure
        self._is_broken = failure is not None and failure.kind == MALFORMED_CHUNK
        return events

    def close(self, closed: StreamClosed, kept_back: Container[int] = ()) -> list[StreamEvent]:
        """The events at the stream's end. Of blocks with an ordinal in `kept_back`, nothing more is told."""
        has_all = not self._has_lost and self._next >= closed.chunk_count
        said = self._aggregator.close() if has_all else self._rest_of(closed, kept_back)
        return [piece for event in said for piece in _pieces(event)]

    def _rest_of(self, closed: StreamClosed, kept_back: Container[int]) -> Iterator[StreamEvent]:
        told = self._aggregator.state.blocks
        for record in closed.blocks:
            is_kept_back = record.ordinal in kept_back
            if record.ordinal < len(told):
                yield from _rest(told[record.ordinal], replace(record, text="") if is_kept_back else record)
            elif not is_kept_back:
                yield from _whole(record)
        if closed.usage:
            yield UsageUpdated(as_object(decode(closed.usage)))
        if closed.finish_reason:
            yield StreamFinished(closed.finish_reason)


def _pieces(event: StreamEvent) -> Iterator[StreamEvent]:
    """The event, with a long text split into several deltas."""
    if not isinstance(event, BlockDelta) or len(event.text) <= PIECE:
        yield event
        return
    yield replace(event, text=event.text[:PIECE])
    for start in range(PIECE, len(event.text), PIECE):
        yield BlockDelta(event.ordinal, event.text[start : start + PIECE])


def _rest(block: StreamBlock, record: BlockRecord) -> Iterator[StreamEvent]:
    """What has not been told of a block yet."""
    if block.is_sealed:
        return
    if rest := record.text[block.length :] if record.text.startswith(block.text) else "":
        yield BlockDelta(block.ordinal, rest)
    if rest or not block.is_complete:
        yield BlockCompleted(block.ordinal, record.is_truncated)
    yield BlockSealed(block.ordinal)


def _whole(record: BlockRecord) -> Iterator[StreamEvent]:
    place = (record.choice, record.index, record.upstream_id, record.name, record.label)
    yield BlockStarted(record.ordinal, BlockKind(record.kind), *place)
    if record.text:
        yield BlockDelta(record.ordinal, record.text)
    yield BlockCompleted(record.ordinal, record.is_truncated)
    yield BlockSealed(record.ordinal)
