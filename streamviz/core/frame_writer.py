"""Sending what the composer writes in place of upstream's own frames, and telling it about those."""

from collections.abc import Sequence, Set

from streamviz.core.aggregator import Chunk
from streamviz.core.composer import Composer
from streamviz.core.context import StreamingContext
from streamviz.core.events import StreamEvent


class FrameWriter:
    """Sends what the composer writes; `has_begun` says whether everything now goes through it."""

    def __init__(self, composer: Composer) -> None:
        self.has_begun = False
        self._composer = composer
        self._lost: Exception | None = None

    def tell_passed(self, events: Sequence[StreamEvent], chunk: Chunk | None) -> None:
        """Tell the composer about frames that it did not write. If it fails, that only matters once it is to write."""
        try:
            self._composer.passed(events, chunk)
        except Exception as error:
            self._lost = self._lost or error

    def begin(self) -> None:
        """Have the composer write from here on. Raises the error with which it failed before, if it did."""
        if self._lost is not None:
            raise self._lost
        self.has_begun = True

    def carry(
        self,
        chunk: Chunk,
        read: Sequence[StreamEvent],
        said: Sequence[StreamEvent],
        touched: Set[int],
        origin: str,
        context: StreamingContext,
    ) -> bool:
        """Send upstream's own frames if the composer can carry them over; those it changed are `origin`'s."""
        composer = self._composer
        frames = composer.carry_part(chunk, read, said, touched) if touched else composer.carry(chunk, said)
        for raw in frames or ():
            if raw is chunk.raw:
                context.send(chunk)
            else:
                context.send_made(raw, origin)
        return frames is not None

    def compose(self, events: Sequence[StreamEvent], origin: str, context: StreamingContext) -> None:
        """Send the frames for `events`."""
        for raw in self._composer.compose(events):
            context.send_made(raw, origin)

    def stop(self, origin: str, context: StreamingContext) -> None:
        """Send the frames that end a halted stream."""
        for raw in self._composer.stop():
            context.send_made(raw, origin)
