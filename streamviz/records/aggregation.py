"""Aggregate stored chunks as the relay did when they came."""

from collections.abc import Iterable, Iterator, Sequence

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.events import MALFORMED_CHUNK
from streamviz.core.json_value import JsonObject, value_in
from streamviz.core.lint.linter import Note
from streamviz.core.sse import SSEEvent, SSEParser, events_in
from streamviz.core.wire import AGGREGATORS, LINTERS, PASSED_THROUGH
from streamviz.records.runs import StoredChunk


def aggregator_of(wire_format: str) -> Aggregator[Chunk, JsonObject]:
    """An aggregator of this format; of one that is not known here, as of a newer release, it reads nothing."""
    return AGGREGATORS.get(wire_format, AGGREGATORS[PASSED_THROUGH.name])()


def aggregate(wire_format: str, stored: Iterable[StoredChunk], *, leave_out: bool = False) -> StreamState:
    """What the chunks add up to; anything after a chunk that cannot be read is ignored. With `leave_out`, they are read
    without what their format does not have, as they are if a policy acts on a stream."""
    aggregator = aggregator_of(wire_format)
    for each in stored:
        for chunk in events_of(each):
            if leave_out:
                chunk = aggregator.as_read(chunk)
                aggregator.prepare(chunk, leave_out=True)
                chunk = aggregator.prepared(chunk)
            aggregator.aggregate(chunk)
        if (failure := aggregator.state.failure) is not None and failure.kind == MALFORMED_CHUNK:
            break
    aggregator.close()
    return aggregator.state


def aggregate_tape(wire_format: str, tape: bytes) -> Aggregator[Chunk, JsonObject]:
    """What a client was sent, read as it would. An answer that is not a stream has its end mark if it is whole JSON."""
    aggregator = aggregator_of(wire_format)
    events = SSEParser().feed(tape)
    if tape.lstrip()[:1] == b"{":
        events = [SSEEvent(tape, tape)]
        aggregator.has_end_mark = value_in(tape) is not None
    for event in events:
        aggregator.aggregate(Chunk(0, 0, event.raw, event.data, event.name))
    return aggregator


def lint(wire_format: str, stored: Sequence[StoredChunk], is_whole: bool) -> list[Note]:
    """Where upstream broke its format; nothing if some of what it sent was not kept."""
    if wire_format not in LINTERS or any(chunk.raw is None for chunk in stored):
        return []
    linter = LINTERS[wire_format]()
    for chunk in stored:
        if chunk.raw and linter.read_usual(chunk.raw):
            continue
        for event in events_of(chunk):
            linter.read(event)
    linter.end(is_whole)
    return linter.notes


def events_of(stored: StoredChunk) -> Iterator[Chunk]:
    """Usually one chunk: an event of a stream, or the whole of an answer that is not a stream."""
    raw = stored.raw or b""
    for event in events_in(raw):
        if event.data is None and raw.lstrip()[:1] == b"{":
            yield Chunk(stored.seq, stored.received_at, raw, raw)
            return
        yield Chunk(stored.seq, stored.received_at, event.raw, event.data, event.name)
