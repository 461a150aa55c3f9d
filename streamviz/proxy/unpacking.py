"""Request bodies that clients have compressed, unpacked as far as a request may be long."""

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

# zlib's word for a gzip or a zlib header, whichever comes.
_EITHER = 32 + zlib.MAX_WBITS
_SLICE = 64 * 1024
# More gzip files behind one another than anybody makes of a request.
_MOST_MEMBERS = 10_000
# What has to be kept in memory of what was unpacked, as a power of two; who compresses for the web takes 8 MiB.
_ZSTD_OPTIONS: Mapping[int, int] = {zstd.DecompressionParameter.window_log_max: 25}
_ENCODINGS = ("gzip", "x-gzip", "deflate", "zstd")


class _Member(Protocol):
    """What unpacks one of the pieces that were packed each by itself."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def require_known(encoding: str) -> None:
    """Raises RequestError (415) for a body that is compressed in another way."""
    if encoding and encoding.lower() not in ("identity", *_ENCODINGS):
        message = f"A request may be compressed with gzip, deflate or zstd, not with {encoding[:40]}."
        known = {"accept-encoding": "gzip, deflate, zstd"}
        raise RequestError(415, message, code="unsupported_encoding", headers=known)


async def unpacked(body: bytes, encoding: str) -> bytes:
    """The body itself. Raises RequestError where it is too long (413) or not what it says (400)."""
    if encoding.lower() not in _ENCODINGS:
        return body
    # It can take long, and lets others run meanwhile.
    return await asyncio.to_thread(_unpacked, body, encoding.lower(), settings.MAX_REQUEST_BYTES)


def _unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """Taken in slices: what is behind a member is copied as it ends, and there can be many."""
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
    """For a body of more bytes than may be."""
    message = f"The request is larger than {settings.MAX_REQUEST_BYTES / MIB:g} MiB."
    return RequestError(413, message, code="too_large")


def _unreadable(why: str) -> RequestError:
    return RequestError(400, f"The request body is not compressed as it says: {why}", code="invalid_encoding")
