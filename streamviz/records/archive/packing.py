"""Parts of a stream as bytes, compressed, and back."""

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

# What a part may come to of which the index does not say it.
MOST_BYTES = 512 * 2**20
# A part that was damaged is noticed when it is read.
_OPTIONS: Mapping[int, int] = {zstd.CompressionParameter.checksum_flag: 1}


class Part(NamedTuple):
    """A part as it is stored, and how many bytes it comes to when it is unpacked."""

    data: bytes
    length: int


def packed(runs: Runs) -> Part:
    """A part as it is stored."""
    plain = msgspec.msgpack.encode([runs.upstream, runs.client])
    return Part(zstd.compress(plain, options=_OPTIONS), len(plain))


def unpacked(data: bytes, length: int) -> Runs:
    """A part that came to so many bytes, 0 where that is not known; no more are unpacked. Raises ValueError for what
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
        raise ValueError("it is cut off, or comes to more than it should")
    return plain


_decoder = msgspec.msgpack.Decoder(tuple[list[UpstreamRow], list[ClientRow]])
