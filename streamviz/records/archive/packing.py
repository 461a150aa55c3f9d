"""Runs of one stream as bytes, and back: parts of a size that is read at once, compressed."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Of a long stream a page reads some parts, not all of them.
PART_BYTES = 2**20
# A part that was damaged is noticed when it is read.
_OPTIONS: Mapping[int, int] = {zstd.CompressionParameter.checksum_flag: 1}
# Bytes that a number in a list takes, about.
_NUMBER = 4


class UpstreamRow(NamedTuple):
    """The fields of an UpstreamRun but its stream."""

    first_seq: int
    first_at: int
    offsets: list[int]
    lengths: list[int]
    payload: bytes | None

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.payload or b"") + _NUMBER * (len(self.offsets) + len(self.lengths))


class ClientRow(NamedTuple):
    """The fields of a ClientRun but its stream."""

    first_frame: int
    first_at: int
    offsets: list[int]
    first_seq: int | None
    origin: str
    lengths: list[int]
    payload: bytes

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.payload) + _NUMBER * (len(self.offsets) + len(self.lengths))


@dataclass
class Runs:
    """Runs of both tapes of one stream, each in order."""

    upstream: list[UpstreamRow] = field(default_factory=list)
    client: list[ClientRow] = field(default_factory=list)

    @property
    def size(self) -> int:
        """About how many bytes they take."""
        return sum(row.size for row in self.upstream) + sum(row.size for row in self.client)

    def outline(self) -> "Outline":
        """What the index says of them."""
        up, down = self.upstream, self.client
        return Outline(
            first_seq=up[0].first_seq if up else 0,
            end_seq=up[-1].first_seq + len(up[-1].offsets) if up else 0,
            first_frame=down[0].first_frame if down else 0,
            end_frame=down[-1].first_frame + len(down[-1].offsets) if down else 0,
            chunks=sum(len(row.offsets) for row in up),
            payload_bytes=sum(len(row.payload or b"") for row in up),
            is_whole=all(row.payload is not None for row in up),
        )


class Outline(NamedTuple):
    """The chunks and frames of a part, from the first to the one behind the last; how many chunks, and bytes of theirs;
    whether the bytes of all of them are kept."""

    first_seq: int
    end_seq: int
    first_frame: int
    end_frame: int
    chunks: int
    payload_bytes: int
    is_whole: bool


def parts(upstream: Iterable[UpstreamRow], client: Iterable[ClientRow]) -> Iterator[Runs]:
    """A stream's runs, as many of them together as make a part."""
    part, size = Runs(), 0
    for row in upstream:
        part.upstream.append(row)
        size += row.size
        if size >= PART_BYTES:
            yield part
            part, size = Runs(), 0
    for frames in client:
        part.client.append(frames)
        size += frames.size
        if size >= PART_BYTES:
            yield part
            part, size = Runs(), 0
    if part.upstream or part.client:
        yield part


class Part(NamedTuple):
    """A part as it is stored, and how many bytes it comes to when it is unpacked."""

    data: bytes
    length: int


def packed(runs: Runs) -> Part:
    """A part as it is stored."""
    plain = msgspec.msgpack.encode([runs.upstream, runs.client])
    return Part(zstd.compress(plain, options=_OPTIONS), len(plain))


def unpacked(data: bytes, length: int) -> Runs:
    """A part that came to so many bytes; no more are unpacked. Raises ValueError for what `packed` did not make."""
    try:
        upstream, client = _decoder.decode(_decompressed(data, length))
    except (zstd.ZstdError, msgspec.DecodeError) as error:
        raise ValueError(str(error)) from None
    return Runs(upstream, client)


def _decompressed(data: bytes, length: int) -> bytes:
    decompressor = zstd.ZstdDecompressor()
    plain = decompressor.decompress(data, length + 1)
    if not decompressor.eof:
        raise ValueError("it is cut off, or comes to more than it should")
    return plain


_decoder = msgspec.msgpack.Decoder(tuple[list[UpstreamRow], list[ClientRow]])
