"""Compress parts of a stream into bytes, and back."""

import sys
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd
from streamviz.records.archive.parts import Runs
from streamviz.records.archive.rows import ClientRow, UpstreamRow

# The most bytes of an unpacked part whose length the index does not have.
MOST_BYTES = 512 * 2**20
# With a checksum, so that damage is noticed when a part is read.
_OPTIONS: Mapping[int, int] = {zstd.CompressionParameter.checksum_flag: 1}


class Part(NamedTuple):
    """A part as it is stored, and its unpacked length in bytes."""

    data: bytes
    length: int


def packed(runs: Runs) -> Part:
    """A part as it is stored."""
    plain = msgspec.msgpack.encode([runs.upstream, runs.client])
    return Part(zstd.compress(plain, options=_OPTIONS), len(plain))


def unpacked(data: bytes, length: int) -> Runs:
    """A part of this unpacked length, 0 if unknown; no more than that is unpacked. Raises ValueError for anything that
    `packed` did not make."""
    try:
        upstream, client = _decoder.decode(_decompressed(data, length or MOST_BYTES))
    except (zstd.ZstdError, msgspec.DecodeError) as error:
        raise ValueError(str(error)) from None
    return Runs(upstream, client)


def _decompressed(data: bytes, length: int) -> bytes:
    decompressor = zstd.ZstdDecompressor()
    plain = decompressor.decompress(data, length + 1)
    if not decompressor.eof:
        raise ValueError("it is cut off, or larger than it should be")
    return plain


_decoder = msgspec.msgpack.Decoder(tuple[list[UpstreamRow], list[ClientRow]])
