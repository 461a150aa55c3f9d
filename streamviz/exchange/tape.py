"""What is recorded of a stream while it runs: what arrived, what policies decided, and then what is sent."""

from collections.abc import Sequence

from streamviz.core.aggregator import Chunk
from streamviz.core.context import UPSTREAM, Frame, shows_block
from streamviz.core.sse import SSEEvent
from streamviz.exchange.stream import LiveStream
from streamviz.records.recorder import AnyEntry, ChunksReceived, FramesSent, VerdictsGiven


class Tape:
    """Numbers what arrives and what is sent, notes when, and makes the entries that are not in the record yet."""

    def __init__(self, stream: LiveStream) -> None:
        self._stream = stream
        self._entries: list[AnyEntry] = []
        self._judged = 0

    def receive(self, events: Sequence[SSEEvent]) -> list[Chunk]:
        """The chunks that arrived in one read; at least one."""
        stream, times = self._stream, self._stream.times
        now = stream.context.now()
        first = len(times.received_at)
        chunks = [Chunk(first + n, now, event.raw, event.data, event.name) for n, event in enumerate(events)]
        times.received_at.extend([now] * len(chunks))
        self._entries.append(ChunksReceived.of(stream.id, chunks))
        return chunks

    def send(self, frames: Sequence[Frame]) -> None:
        """Note that these frames are sent together, now."""
        stream, times = self._stream, self._stream.times
        now = stream.context.now()
        self._note_verdicts()
        self._entries.append(FramesSent.of(stream.id, times.frame_count, now, frames))
        for frame in frames:
            if frame.seq is not None and frame.origin == UPSTREAM:
                times.passed_seqs.append(frame.seq)
                times.passed_at.append(now)
            else:
                times.made_at.append(now)
        if times.client_first_at is None and stream.state.blocks:
            first = stream.state.blocks[0].first_seq
            if any(shows_block(frame.seq, frame.origin, first) for frame in frames):
                times.client_first_at = now

    def take_entries(self, frames: Sequence[Frame] = ()) -> list[AnyEntry]:
        """The entries to record before anything else is done; `frames` are sent next."""
        if frames:
            self.send(frames)
        else:
            self._note_verdicts()
        entries, self._entries = self._entries, []
        return entries

    def _note_verdicts(self) -> None:
        judgements = self._stream.context.judgements
        if len(judgements) > self._judged:
            self._entries.append(VerdictsGiven(self._stream.id, self._stream.verdicts[self._judged :]))
            self._judged = len(judgements)
