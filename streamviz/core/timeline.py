"""A tape that was aggregated once, so that any moment of it can be shown without doing so again."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from copy import copy
from typing import NamedTuple

from streamviz.core.aggregator import Aggregator, Chunk
from streamviz.core.blocks import StreamState
from streamviz.core.events import (
    MALFORMED_CHUNK,
    BlockCompleted,
    BlockDelta,
    BlockSealed,
    BlockStarted,
    StreamEvent,
    StreamFailed,
    StreamFinished,
    UsageUpdated,
)
from streamviz.core.growth import Grown, numbers
from streamviz.core.json_value import JsonObject

Told = UsageUpdated | StreamFinished | StreamFailed
NOBODY = -1


class Piece(NamedTuple):
    """What a chunk adds to a block: its characters from `start` to before `end`."""

    ordinal: int
    start: int
    end: int


class Timeline:
    """One tape of a stream as its aggregator reads it: chunks go in once, in order, each with its number.

    It keeps some bytes per chunk beside the text itself, and `moment` takes some µs per block.
    """

    def __init__(self, aggregator: Aggregator[Chunk, JsonObject]) -> None:
        self._aggregator: Aggregator[Chunk, JsonObject] | None = aggregator
        self._is_truncated = False
        self._count = 0
        self._after = numbers()
        self._times: array[int] = array("q")
        self._blocks: list[Grown] = []
        self._deltas = numbers()
        self._of_block = numbers()
        self._told: list[tuple[int, Told]] = []
        self._owners: array[int] = array("i")
        self._owner = self._ended = NOBODY
        self._usage: UsageUpdated | None = None
        self._is_broken = False

    def __len__(self) -> int:
        """How many chunks there are."""
        return len(self._after)

    @property
    def blocks(self) -> int:
        """How many blocks there are in all."""
        return len(self._blocks)

    def add(self, seq: int, at: int, chunks: Iterator[Chunk]) -> None:
        """Take in the chunk `seq`, which came at `at` (µs since the epoch) and is read as `chunks`. Nothing counts
        after a chunk that cannot be read."""
        while len(self._after) < seq:
            self._end_chunk(at)
        aggregator = self._aggregator
        assert aggregator is not None
        for chunk in () if self._is_broken else chunks:
            for event in aggregator.aggregate(chunk):
                self._take(event)
        failure = aggregator.state.failure
        self._is_broken = failure is not None and failure.kind == MALFORMED_CHUNK
        self._end_chunk(at)

    def close(self) -> None:
        """End the input, which ends all blocks; only the moment None shows that. Nothing may be added after that, and
        the aggregator's own state is dropped."""
        assert self._aggregator is not None
        for event in self._aggregator.close():
            self._take(event)
        self._is_truncated = self._aggregator.state.is_truncated
        self._aggregator = None

    def moment(self, seq: int | None) -> StreamState:
        """The stream as it was after the chunk `seq`, or with None as it ended. It does not say what the latest chunk
        brought. Raises IndexError if there is no such chunk."""
        until = self._count if seq is None else self._after[seq]
        state = StreamState()
        for block in self._blocks[: self._begun(until)]:
            for number, event in block.told(until):
                chunk = self._chunk_of(number)
                state.begin_chunk(chunk, self._times[chunk])
                state.apply(event)
        for _, told in self._told[: bisect_left(self._told, until, key=lambda each: each[0])]:
            state.apply(told)
        if self._after:
            last = len(self) - 1 if seq is None else seq
            state.begin_chunk(last, self._times[last])
        state.is_truncated = seq is None and self._is_truncated
        return state

    def timed(self, times: "array[int]") -> "Timeline":
        """The same chunks at other times (µs since the epoch), one per chunk."""
        other = copy(self)
        other._times = times
        return other

    def at(self, seq: int) -> int:
        """When a chunk came (µs since the epoch)."""
        return self._times[seq]

    def last_by(self, at: int) -> int | None:
        """The last chunk that had come by `at` (µs since the epoch); None if none had."""
        found = bisect_right(self._times, at)
        return found - 1 if found else None

    def pieces(self, seq: int) -> list[Piece]:
        """What a chunk adds to which blocks, in order, including blocks that begin without a text."""
        first, until = self._events(seq)
        found = [
            (block.number, Piece(block.started.ordinal, 0, 0))
            for block in self._blocks[self._begun(first) : self._begun(until)]
        ]
        for place in range(bisect_left(self._deltas, first), bisect_left(self._deltas, until)):
            number, block = self._deltas[place], self._blocks[self._of_block[place]]
            position = bisect_left(block.deltas, number)
            start = block.ends[position - 1] if position else 0
            found.append((number, Piece(block.started.ordinal, start, block.ends[position])))
        return [piece for _, piece in sorted(found)]

    def told(self, seq: int) -> list[Told]:
        """What a chunk says about the answer as a whole: its usage, why it ended, an error."""
        first, until = (bisect_left(self._told, number, key=lambda each: each[0]) for number in self._events(seq))
        return [event for _, event in self._told[first:until]]

    def owner(self, seq: int) -> int:
        """The block that a chunk is about, the last if there are several; NOBODY if it is about the answer."""
        return self._owners[seq]

    def begun(self, ordinal: int) -> BlockStarted:
        """How a block began."""
        return self._blocks[ordinal].started

    def text(self, piece: Piece) -> str:
        """The characters of a piece."""
        return self._blocks[piece.ordinal].text[piece.start : piece.end]

    def chunks_of(self, piece: Piece) -> tuple[int, int]:
        """The first and the last chunk in which a block got these characters. Raises IndexError if it has none of
        them."""
        block = self._blocks[piece.ordinal]
        first = block.deltas[bisect_right(block.ends, piece.start)]
        last = min(bisect_left(block.ends, max(piece.end, piece.start + 1)), len(block.deltas) - 1)
        return self._chunk_of(first), self._chunk_of(block.deltas[last])

    def turns(self) -> Iterator[int]:
        """The chunks at which a block begins or ends, in no order."""
        for block in self._blocks:
            yield self._chunk_of(block.number)
            yield from (self._chunk_of(number) for number, _ in block.endings)

    def _events(self, seq: int) -> tuple[int, int]:
        """The number of a chunk's first event, and that after its last."""
        return (self._after[seq - 1] if seq else 0), self._after[seq]

    def _begun(self, until: int) -> int:
        return bisect_left(self._blocks, until, key=lambda block: block.number)

    def _chunk_of(self, number: int) -> int:
        """The chunk that an event came in; the last one for those of the end of input."""
        return min(bisect_right(self._after, number), len(self._after) - 1)

    def _end_chunk(self, at: int) -> None:
        self._after.append(self._count)
        self._times.append(at)
        tells = bool(self._told) and self._told[-1][0] >= (self._after[-2] if len(self._after) > 1 else 0)
        self._owners.append(self._ended if self._owner == NOBODY and not tells else self._owner)
        self._owner = self._ended = NOBODY

    def _take(self, event: StreamEvent) -> None:
        match event:
            case BlockDelta(ordinal=ordinal):
                self._blocks[ordinal].grow(self._count, event)
                self._deltas.append(self._count)
                self._of_block.append(ordinal)
                self._owner = ordinal
            case BlockStarted(ordinal=ordinal):
                self._blocks.append(Grown(self._count, event))
                self._owner = ordinal
            case BlockCompleted(ordinal=ordinal) | BlockSealed(ordinal=ordinal):
                self._blocks[ordinal].endings.append((self._count, event))
                self._ended = ordinal
            case UsageUpdated() if event == self._usage:
                pass  # some providers repeat it with every chunk
            case _:
                self._usage = event if isinstance(event, UsageUpdated) else self._usage
                self._told.append((self._count, event))
        self._count += 1
