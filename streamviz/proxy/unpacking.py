"""Request bodies that clients have compressed, unpacked as far as a request may be long."""

import asyncio
import zlib

from django.conf import settings

from streamviz.core.bounds import MIB
from streamviz.core.errors import RequestError

# zlib's word for a gzip or a zlib header, whichever comes.
_EITHER = 32 + zlib.MAX_WBITS
_ENCODINGS = ("gzip", "x-gzip", "deflate")


def require_known(encoding: str) -> None:
    """Raises RequestError (415) for a body that is compressed in another way."""
    if encoding and encoding.lower() not in ("identity", *_ENCODINGS):
        message = f"A request may be compressed with gzip or deflate, not with {encoding[:40]}."
        raise RequestError(415, message, code="unsupported_encoding")


async def unpacked(body: bytes, encoding: str) -> bytes:
    """The body itself. Raises RequestError where it is too long (413) or not what it says (400)."""
    if encoding.lower() not in _ENCODINGS:
        return body
    # It can take long, and lets others run meanwhile.
    return await asyncio.to_thread(_unpacked, body, settings.MAX_REQUEST_BYTES)


def _unpacked(body: bytes, most: int) -> bytes:
    pieces: list[bytes] = []
    left = most
    while body:
        member = zlib.decompressobj(_EITHER)
        try:
            piece = member.decompress(body, left + 1)
        except zlib.error as error:
            raise _unreadable(str(error)) from error
        left -= len(piece)
        if left < 0:
            raise too_large()
        if not member.eof:
            raise _unreadable("it is cut off")
        pieces.append(piece)
        body = member.unused_data
    return b"".join(pieces)


def too_large() -> RequestError:
    """For a body of more bytes than may be."""
    message = f"The request is larger than {settings.MAX_REQUEST_BYTES / MIB:g} MiB."
    return RequestError(413, message, code="too_large")


def _unreadable(why: str) -> RequestError:
    return RequestError(400, f"The request body is not compressed as it says: {why}", code="invalid_encoding")
