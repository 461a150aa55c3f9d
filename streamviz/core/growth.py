"""How a block of a tape grew, so that it can be shown as it was at any moment."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from streamviz.core.events import BlockCompleted, BlockDelta, BlockSealed, BlockStarted, StreamEvent


def numbers() -> "array[int]":
    """An empty array for numbers of events, or of characters."""
    return array("I")


@dataclass(slots=True)
class Grown:
    """A block's growth. Events are numbered: `deltas` has those by which it grew, `ends` how long it was after each."""

    number: int
    started: BlockStarted
    deltas: "array[int]" = field(default_factory=numbers)
    ends: "array[int]" = field(default_factory=numbers)
    pieces: list[str] = field(default_factory=list)
    named: list[tuple[int, BlockDelta]] = field(default_factory=list)
    endings: list[tuple[int, BlockCompleted | BlockSealed]] = field(default_factory=list)

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def grow(self, number: int, delta: BlockDelta) -> None:
        self.ends.append((self.ends[-1] if self.ends else 0) + len(delta.text))
        self.deltas.append(number)
        if delta.text:
            self.pieces.append(delta.text)
        if delta.id or delta.name or delta.signature:
            self.named.append((number, delta))

    def told(self, until: int) -> Iterator[tuple[int, StreamEvent]]:
        """A few events, with their numbers, that add up to the same as all those before the event `until`."""
        yield self.number, self.started
        last = bisect_left(self.deltas, until)
        if last:
            named = [delta for number, delta in self.named if number < until]
            yield (
                self.deltas[last - 1],
                BlockDelta(
                    self.started.ordinal,
                    self.text[: self.ends[last - 1]],
                    next((delta.id for delta in reversed(named) if delta.id), ""),
                    next((delta.name for delta in reversed(named) if delta.name), ""),
                    "".join(delta.signature for delta in named),
                ),
            )
        grown = self.deltas[last - 1] if last else self.number
        yield from ((number, event) for number, event in self.endings if grown < number < until)
