"""What pages read of a stream's two tapes: its chunks with their times, and the bytes of chunks and frames."""

import uuid
from typing import NamedTuple

from streamviz.records.models import Block, Stream
from streamviz.records.moments import as_microseconds
from streamviz.records.runs import StoredChunk
from streamviz.records.tapes import client_runs, passed_runs, upstream_runs

CHUNKS_A_PAGE = 200


class ChunkRow(NamedTuple):
    """A chunk. Times are µs after the request; `sent_at` is None if it was never sent, `gap` for the first chunk, `raw`
    if only its length was kept."""

    seq: int
    received_at: int
    gap: int | None
    sent_at: int | None
    blocks: list[Block]
    length: int
    raw: bytes | None


def chunk_page(stream: Stream, first: int, most: int = CHUNKS_A_PAGE) -> list[ChunkRow]:
    """At most `most` of a stream's chunks, from the chunk `first` on."""
    end = first + most
    start = as_microseconds(stream.requested_at)
    received = _received(stream, first - 1, end)
    sent = _sent(stream, first, end)
    theirs = stream.blocks.filter(first_seq__lt=end, last_seq__gte=first)
    blocks = list(theirs.defer("text", "signature"))
    return [
        ChunkRow(
            seq=seq,
            received_at=chunk.received_at - start,
            gap=chunk.received_at - received[seq - 1].received_at if seq - 1 in received else None,
            sent_at=sent[seq] - start if seq in sent else None,
            blocks=[block for block in blocks if block.first_seq <= seq <= block.last_seq],
            length=chunk.length,
            raw=chunk.raw,
        )
        for seq, chunk in sorted(received.items())
        if seq >= first
    ]


def _received(stream: Stream, first: int, end: int) -> dict[int, StoredChunk]:
    """The chunks in first ≤ seq < end by number."""
    return {
        chunk.seq: chunk
        for run in upstream_runs(stream.pk, first, end)
        for chunk in run.chunks()
        if first <= chunk.seq < end
    }


def chunk_bytes(stream_id: uuid.UUID, seqs: range) -> list[bytes]:
    """These chunks as upstream sent them; empty if a chunk's bytes were not kept."""
    runs = upstream_runs(stream_id, seqs.start, seqs.stop)
    return [chunk.raw or b"" for run in runs for chunk in run.chunks() if chunk.seq in seqs]


def frame_bytes(stream_id: uuid.UUID, numbers: range) -> list[bytes]:
    """The frames among these that are not upstream's chunks, as the client got them."""
    runs = client_runs(stream_id, numbers.start, numbers.stop)
    frames = (frame for run in runs for frame in run.frames() if frame.number in numbers)
    return [frame.made for frame in frames if frame.seq is None]


def _sent(stream: Stream, first: int, end: int) -> dict[int, int]:
    """When the chunks in first ≤ seq < end were sent, if they were."""
    return {
        frame.seq: frame.sent_at
        for run in passed_runs(stream.pk, first, end)
        for frame in run.frames()
        if frame.seq is not None and first <= frame.seq < end
    }
