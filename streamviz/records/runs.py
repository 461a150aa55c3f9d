"""Split rows of the tables of runs into chunks and frames. Times are µs since the epoch."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# The most chunks or frames in a row; docs/performance.md has what other sizes cost.
RUN = 128


class StoredChunk(NamedTuple):
    """A chunk of the upstream tape. `raw` is None if only its length was kept."""

    seq: int
    received_at: int
    length: int
    raw: bytes | None


class StoredFrame(NamedTuple):
    """A frame of the client tape: upstream's chunk `seq` or, if that is None, bytes that `origin` made."""

    number: int
    sent_at: int
    seq: int | None
    origin: str
    made: bytes


def chunks_in(
    first_seq: int, first_at: int, offsets: Sequence[int], lengths: Sequence[int], payload: bytes | memoryview | None
) -> Iterator[StoredChunk]:
    """The chunks in one row, given its fields."""
    start = 0
    for n, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        raw = None if payload is None else bytes(payload[start : start + length])
        yield StoredChunk(first_seq + n, first_at + offset, length, raw)
        start += length


def frames_in(
    first_frame: int,
    first_at: int,
    offsets: Sequence[int],
    first_seq: int | None,
    origin: str,
    lengths: Sequence[int],
    payload: bytes | memoryview,
) -> Iterator[StoredFrame]:
    """The frames in one row, given its fields."""
    start = 0
    for n, offset in enumerate(offsets):
        number, sent_at = first_frame + n, first_at + offset
        if first_seq is not None:
            yield StoredFrame(number, sent_at, first_seq + n, origin, b"")
        else:
            yield StoredFrame(number, sent_at, None, origin, bytes(payload[start : start + lengths[n]]))
            start += lengths[n]
