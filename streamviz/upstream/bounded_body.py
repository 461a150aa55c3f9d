"""What a provider sends to LiteLLM, which takes all that comes: unpacked bit by bit, and no more than may be."""

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator

import httpx

from streamviz.core.bounds import MIB, Bounds, too_many_values
from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import has_more_values

# zlib's word for a gzip or a zlib header, whichever comes.
_EITHER = 32 + zlib.MAX_WBITS
_SLICE = 64 * 1024
_PACKED = ("gzip", "x-gzip", "deflate")
_UNASKED = ("br", "zstd")
# What is asked for, and not what else happens to be installed: these are unpacked no further than is read.
ENCODINGS = "gzip, deflate"
_VALUES = (b",", b"[", b"{")
UNBOUNDED = Bounds(answer_bytes=2**20 * MIB, event_bytes=2**20 * MIB, blocks=2**60, values=2**60)


class BoundedBody(httpx.AsyncByteStream):
    """A body as its sender wrote it. Raises UpstreamError where it is longer than an answer may be, and where a line of
    a stream is longer, or has more values, than an event may have."""

    def __init__(self, pieces: AsyncIterable[bytes], packing: str, bounds: Bounds, *, has_lines: bool) -> None:
        self._pieces = pieces
        self._packing = packing
        self._bounds = bounds
        self._line = _Line(bounds) if has_lines else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for piece in _unpacked(self._pieces, self._packing):
            received += len(piece)
            self._bounds.require_bytes(received)
            if self._line is not None:
                self._line.take(piece)
            yield piece
        if self._line is not None:
            self._line.require_few()  # the last one needs no end

    async def aclose(self) -> None:
        if isinstance(self._pieces, httpx.AsyncByteStream):
            await self._pieces.aclose()


class _Line:
    """The line that has not ended yet: LiteLLM reads none before its end, or that of the body."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._begin(b"")

    def take(self, piece: bytes) -> None:
        """Raises UpstreamError for a line that is too much. Those that begin and end in one piece never are."""
        end, newline, rest = piece.partition(b"\n")
        self._pieces.append(end)
        self._bytes += len(end)
        self._marks += sum(map(end.count, _VALUES))
        self._bounds.require_event(self._bytes)
        if newline:
            self.require_few()
            self._begin(rest.rpartition(b"\n")[2])

    def require_few(self) -> None:
        """Raises UpstreamError where what there is of the line has more values than may be."""
        if self._marks > self._bounds.values:  # those in texts too
            require_few_values(b"".join(self._pieces), self._bounds)

    def _begin(self, piece: bytes) -> None:
        self._pieces = [piece]
        self._bytes = len(piece)
        self._marks = sum(map(piece.count, _VALUES))


def require_few_values(data: bytes, bounds: Bounds) -> None:
    """Raises UpstreamError for JSON of more values than may be read at once."""
    if has_more_values(data, bounds.values):
        raise too_many_values(bounds.values)


async def _unpacked(pieces: AsyncIterable[bytes], packing: str) -> AsyncIterator[bytes]:
    if packing in _UNASKED:
        raise UpstreamError(502, f"upstream answered in {packing}, for which it was not asked")
    unpacker: zlib._Decompress | None = None
    async for piece in pieces:
        if packing not in _PACKED:  # some say `utf-8` or `none` there
            yield piece
            continue
        unpacker = unpacker or _unpacker(packing, piece)
        for unpacked in _slices(unpacker, piece):
            yield unpacked
            await asyncio.sleep(0)  # a piece may be a thousand slices, and others have their turn between them


def _unpacker(packing: str, piece: bytes) -> "zlib._Decompress":
    """For a body that begins with `piece`. Some send what they call `deflate` without the header of zlib's."""
    is_bare = packing == "deflate" and piece[:1] and piece[0] & 0xF != zlib.DEFLATED
    return zlib.decompressobj(-zlib.MAX_WBITS if is_bare else _EITHER)


def _slices(unpacker: "zlib._Decompress", piece: bytes) -> Iterator[bytes]:
    """What comes behind the end is passed over: zlib would keep all of it, and copy that for each piece."""
    try:
        while not unpacker.eof and (unpacked := unpacker.decompress(piece, _SLICE)):
            yield unpacked
            piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise UpstreamError(502, "upstream's answer is not compressed as it says") from error
