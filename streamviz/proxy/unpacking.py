"""Unpacks request bodies that clients have compressed, up to the length that a request may have."""

import asyncio
import sys
import zlib
from collections.abc import Mapping
from typing import Protocol

from django.conf import settings

from streamviz.core.bounds import MIB
from streamviz.core.errors import RequestError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# zlib's way to say that the header may be gzip's or zlib's.
_EITHER = 32 + zlib.MAX_WBITS
_SLICE = 64 * 1024
# The most gzip files in a row; nobody makes this many of one request.
_MOST_MEMBERS = 10_000
# The window, which is the part of the output that must be kept in memory, as a power of two; 8 MiB is usual on the web.
_ZSTD_OPTIONS: Mapping[int, int] = {zstd.DecompressionParameter.window_log_max: 25}
_ENCODINGS = ("gzip", "x-gzip", "deflate", "zstd")


class _Member(Protocol):
    """Unpacks one member: a part that was compressed on its own."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def require_known(encoding: str) -> None:
    """Raises RequestError (415) for a body that is compressed in any other way."""
    if encoding and encoding.lower() not in ("identity", *_ENCODINGS):
        message = f"A request may be compressed with gzip, deflate or zstd, not with {encoding[:40]}."
        known = {"accept-encoding": "gzip, deflate, zstd"}
        raise RequestError(415, message, code="unsupported_encoding", headers=known)


async def unpacked(body: bytes, encoding: str) -> bytes:
    """The body, unpacked. Raises RequestError if it is too long (413) or not compressed as it says (400)."""
    if encoding.lower() not in _ENCODINGS:
        return body
    # It can take long; others run meanwhile.
    return await asyncio.to_thread(_unpacked, body, encoding.lower(), settings.MAX_REQUEST_BYTES)


def _unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """Unpack slice by slice: what follows a member is copied when it ends, and there can be many."""
    pieces: list[bytes] = []
    left, members, member = most, 0, None
    for at in range(0, len(body), _SLICE):
        data = body[at : at + _SLICE]
        while data:
            if member is None:
                member, members = _member(encoding), members + 1
            if members > _MOST_MEMBERS:
                raise _unreadable(f"it has more than {_MOST_MEMBERS} members")
            pieces.append(_piece(member, data, left + 1))
            left -= len(pieces[-1])
            if left < 0:
                raise too_large()
            data, member = member.unused_data, None if member.eof else member
    if member is not None:
        raise _unreadable("it is cut off")
    return b"".join(pieces)


def _piece(member: _Member, data: bytes, most: int) -> bytes:
    try:
        return member.decompress(data, most)
    except (zlib.error, zstd.ZstdError) as error:
        raise _unreadable(str(error)) from error


def _member(encoding: str) -> _Member:
    return zstd.ZstdDecompressor(options=_ZSTD_OPTIONS) if encoding == "zstd" else zlib.decompressobj(_EITHER)


def too_large() -> RequestError:
    """The error for a body longer than the limit."""
    message = f"The request is larger than {settings.MAX_REQUEST_BYTES / MIB:g} MiB."
    return RequestError(413, message, code="too_large")


def _unreadable(why: str) -> RequestError:
    return RequestError(400, f"The request body does not match its content-encoding: {why}.", code="invalid_encoding")
