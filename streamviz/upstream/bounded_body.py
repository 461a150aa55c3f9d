"""What a provider sends to LiteLLM, which takes everything that comes: unpacked bit by bit, within limits."""

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence

import httpx

from streamviz.core.bounds import Bounds, too_many_values
from streamviz.core.errors import UpstreamError
from streamviz.core.json_value import has_more_values

# zlib's way to say that the header may be gzip's or zlib's.
_EITHER = 32 + zlib.MAX_WBITS
_SLICE = 64 * 1024
# How each gzip member begins.
_GZIP = b"\x1f"
_PACKED = ("gzip", "x-gzip", "deflate")
_UNASKED = ("br", "zstd")
# The encodings that are asked for, whatever else happens to be installed: these are unpacked no further than is read.
ENCODINGS = "gzip, deflate"
# One of these precedes each JSON value but the first.
VALUES = (",", "[", "{")
_VALUES = tuple(mark.encode() for mark in VALUES)
# What ends each piece of a stream that its reader takes as one. OpenAI's SDK joins lines into events.
LINES, EVENTS = (b"\n",), (b"\n\n", b"\n\r\n")
# An event has at most this many lines, if it has one of data; more are taken for several.
_LINES_OF_AN_EVENT = 4
_MOST_LINES = 100
# The most gzip files in a row; nobody makes this many of one answer.
_MOST_MEMBERS = 10_000
UNBOUNDED = Bounds(2**60, 2**60, events=2**60, blocks=2**60, values=2**60)


class BoundedBody(httpx.AsyncByteStream):
    """A body as its sender wrote it, before compression. Raises UpstreamError if it is longer than an answer may be, or
    if a piece of a stream, up to one of `ends`, is longer or has more values than an event may have. If `error_in`
    finds an error in a line of a stream, raises that in place of the line."""

    def __init__(
        self,
        pieces: AsyncIterable[bytes],
        packing: str,
        bounds: Bounds,
        ends: tuple[bytes, ...] = (),
        error_in: Callable[[bytes], UpstreamError | None] | None = None,
    ) -> None:
        self._pieces = pieces
        self._packing = packing
        self._bounds = bounds
        self._unread = _Unread(bounds, ends) if ends else None
        self._watched = _Watched(error_in) if ends and error_in else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = lines = 0
        async for piece in _unpacked(self._pieces, self._packing):
            received += len(piece)
            self._bounds.require_bytes(received)
            if self._unread is not None:
                lines += piece.count(b"\n")
                self._bounds.require_events(lines // _LINES_OF_AN_EVENT)
                self._unread.take(piece)
            before, error = (piece, None) if self._watched is None else self._watched.before_error(piece)
            first, *others = _parts(before)
            yield first
            for part in others:
                await asyncio.sleep(0)
                yield part
            if error is not None:
                raise error
        self._end()

    def _end(self) -> None:
        """Check what follows the last end: the last piece needs none."""
        if self._unread is not None:
            self._unread.require_few()
        if self._watched is not None:
            self._watched.require_none()

    async def aclose(self) -> None:
        if isinstance(self._pieces, httpx.AsyncByteStream):
            await self._pieces.aclose()


class _Unread:
    """The line, or the event, that has not ended yet: nobody reads it before its end, or that of the body."""

    def __init__(self, bounds: Bounds, ends: tuple[bytes, ...]) -> None:
        self._bounds = bounds
        self._ends = ends
        self._longest_end = max(map(len, ends))
        self._last = b""
        self._begin(b"")

    def take(self, piece: bytes) -> None:
        """Raises UpstreamError for a piece that is too much. Those that begin and end in one read never are."""
        data = self._last + piece  # an end may have begun in the last read
        self._last = data[len(data) - self._longest_end + 1 :]
        begins_at = len(data) - len(piece)
        found = [at for end in self._ends if (at := data.find(end)) >= 0]
        self._add(data[begins_at : min(found)] if found else piece)
        if found:
            self.require_few()
            self._begin(data[max(data.rfind(end) + len(end) for end in self._ends if end in data) :])

    def require_few(self) -> None:
        """Raises UpstreamError if the piece so far has more values than an event may have."""
        if self._marks > self._bounds.values:  # counts those within texts too
            require_few_values(b"".join(self._pieces), self._bounds)

    def _begin(self, piece: bytes) -> None:
        self._pieces: list[bytes] = []
        self._bytes = self._marks = 0
        self._add(piece)

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._bytes += len(piece)
        self._marks += sum(map(piece.count, _VALUES))
        self._bounds.require_event(self._bytes)


class _Watched:
    """The lines of a stream, one of which may be an error. Part of a line may be passed on: nobody reads a line before
    its end."""

    def __init__(self, error_in: Callable[[bytes], UpstreamError | None]) -> None:
        self._error_in = error_in
        self._begun: list[bytes] = []

    def before_error(self, piece: bytes) -> tuple[bytes, UpstreamError | None]:
        """The part of a piece before a line that is an error, and the error; all of it if there is none."""
        end = piece.rfind(b"\n") + 1
        if not end:
            self._begun.append(piece)
            return piece, None
        begun, self._begun = b"".join(self._begun), [piece[end:]]
        at = -len(begun)
        for line in (begun + piece[:end]).splitlines(keepends=True):
            if (error := self._error_in(line)) is not None:
                return piece[: max(0, at)], error
            at += len(line)
        return piece, None

    def require_none(self) -> None:
        """Raises UpstreamError if the last line is an error."""
        if (error := self._error_in(b"".join(self._begun))) is not None:
            raise error


def _parts(piece: bytes) -> Sequence[bytes]:
    """A piece in parts of not too many lines, between which others get their turn: LiteLLM goes on to the end of what
    it has, and may take more than 0.1 ms for each line, even an empty one."""
    if piece.count(b"\n") <= _MOST_LINES:
        return (piece,)
    lines = piece.splitlines(keepends=True)
    return [b"".join(lines[at : at + _MOST_LINES]) for at in range(0, len(lines), _MOST_LINES)]


def require_few_values(data: bytes, bounds: Bounds) -> None:
    """Raises UpstreamError for JSON with more values than may be read at once."""
    if has_more_values(data, bounds.values):
        raise too_many_values(bounds.values)


async def _unpacked(pieces: AsyncIterable[bytes], packing: str) -> AsyncIterator[bytes]:
    if packing in _UNASKED:
        raise UpstreamError(502, f"upstream answered in {packing}, which was not asked for")
    unpacker = _Unpacker(packing)
    async for piece in pieces:
        if packing not in _PACKED:  # some say `utf-8` or `none` here
            yield piece
            continue
        for unpacked in unpacker.take(piece):
            yield unpacked
            await asyncio.sleep(0)  # a piece may be a thousand slices; others get their turn between them


class _Unpacker:
    """Unpacks a body. A gzip body may have several members, each compressed on its own."""

    def __init__(self, packing: str) -> None:
        self._packing = packing
        self._members = 0
        self._member: zlib._Decompress | None = None

    def take(self, data: bytes) -> Iterator[bytes]:
        """Unpack more of the body. What follows its end is ignored: zlib would keep all of it, and copy that for each
        piece."""
        for at in range(0, len(data), _SLICE):
            piece = data[at : at + _SLICE]
            while piece and (member := self._at_hand(piece)) is not None:
                yield from _slices(member, piece)
                piece = member.unused_data if member.eof else b""

    def _at_hand(self, piece: bytes) -> "zlib._Decompress | None":
        """The member that `piece` continues; None if nothing more is to be read."""
        if self._member is None or (self._member.eof and self._is_another(piece)):
            self._member, self._members = _unpacker(self._packing, piece), self._members + 1
            if self._members > _MOST_MEMBERS:
                raise UpstreamError(502, f"upstream's answer has more than {_MOST_MEMBERS} packed members")
        return None if self._member.eof else self._member

    def _is_another(self, piece: bytes) -> bool:
        return self._packing != "deflate" and piece[:1] == _GZIP


def _unpacker(packing: str, piece: bytes) -> "zlib._Decompress":
    """The decompressor for a body that begins with `piece`. Some servers send `deflate` without zlib's header."""
    is_bare = packing == "deflate" and piece[:1] and piece[0] & 0xF != zlib.DEFLATED
    return zlib.decompressobj(-zlib.MAX_WBITS if is_bare else _EITHER)


def _slices(unpacker: "zlib._Decompress", piece: bytes) -> Iterator[bytes]:
    try:
        while not unpacker.eof and (unpacked := unpacker.decompress(piece, _SLICE)):
            yield unpacked
            piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise UpstreamError(502, "upstream's answer is not compressed as it claims") from error
