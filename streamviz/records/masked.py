"""Keep what a policy masks in an answer out of the record."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from uuid import UUID

from msgspec.structs import replace

from streamviz.core.blocks import StreamBlock
from streamviz.core.judgements import ChainContext
from streamviz.core.masking import masked_text, told_text
from streamviz.core.policy import ActivePolicy, TakesLong
from streamviz.records.block_record import BlockRecord
from streamviz.records.recorder import AnyEntry, ChunksReceived, FramesSent, Recorder, StreamClosed


class Masked:
    """A Recorder in front of another, for one stream whose answer `policies` mask.

    A chunk waits here until the client got it unchanged, or got a later one, or nothing more comes. Of a chunk that the
    client did not get unchanged, only the size and time are kept; blocks are kept as the policies leave them.
    """

    def __init__(self, recorder: Recorder, policies: Sequence[ActivePolicy], context: ChainContext) -> None:
        self._recorder = recorder
        self._policies = policies
        self._context = context
        self._waiting: deque[ChunksReceived] = deque()

    def append(self, entry: AnyEntry) -> None:
        if isinstance(entry, ChunksReceived):
            self._waiting.append(entry)
            return
        if isinstance(entry, FramesSent):
            self._settle({seq for seq in entry.seqs if seq is not None})
        elif isinstance(entry, StreamClosed):
            self._settle_rest()
            entry = self._told(replace(entry, blocks=list(self._masked(entry.blocks))))
        self._recorder.append(entry)

    def flush(self) -> None:
        self._recorder.flush()

    def has_lost(self, stream_id: UUID) -> bool:
        return self._recorder.has_lost(stream_id)

    def _settle(self, passed: set[int]) -> None:
        """Record the chunks up to the last of `passed`, which the client gets unchanged; earlier ones it never will."""
        last = max(passed, default=-1)
        while self._waiting and self._waiting[0].first <= last:
            entry = self._waiting.popleft()
            settled = last + 1 - entry.first
            for part in _parts(replace(entry, raws=entry.raws[:settled]), passed):
                self._recorder.append(part)
            if rest := entry.raws[settled:]:
                self._waiting.appendleft(replace(entry, first=last + 1, raws=rest))

    def _settle_rest(self) -> None:
        for entry in self._waiting:
            for part in _parts(entry, frozenset()):
                self._recorder.append(part)
        self._waiting.clear()

    def _told(self, entry: StreamClosed) -> StreamClosed:
        """Remove what policies forbid from what the answer says about itself; the stream ended at the first of that."""
        if not self._context.state.contradiction:
            return entry
        usage = (entry.usage or b"").decode()
        return replace(
            entry,
            finish_reason=told_text(entry.finish_reason, self._policies),
            usage=entry.usage if told_text(usage, self._policies) == usage else None,
            blocks=[replace(block, upstream_id=told_text(block.upstream_id, self._policies),
                            name=told_text(block.name, self._policies)) for block in entry.blocks],
        )  # fmt: skip

    def _masked(self, records: Iterable[BlockRecord]) -> Iterator[BlockRecord]:
        blocks = self._context.state.blocks
        for record in records:
            text = self._context.masked.get(record.ordinal)
            yield replace(record, text=self._masked_now(blocks[record.ordinal]) if text is None else text)

    def _masked_now(self, block: StreamBlock) -> str:
        """Mask a block that was not masked by the time the stream ended; empty if that would take long."""
        try:
            return masked_text(block, self._policies, self._context)
        except TakesLong:
            return ""


def _parts(entry: ChunksReceived, passed: set[int] | frozenset[int]) -> Iterator[ChunksReceived]:
    """The same chunks in as few entries as possible: an entry has the bytes of all of its chunks or of none."""
    numbered = enumerate(entry.raws, entry.first)
    for has_passed, group in groupby(numbered, lambda each: each[0] in passed):
        part = list(group)
        raws = [raw for _, raw in part]
        sizes = [] if has_passed else [len(raw) for raw in raws]
        yield replace(entry, first=part[0][0], raws=raws if has_passed else [], sizes=sizes)
