"""Which stream's events somebody may read, and how many streams at once."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import time
from uuid import UUID

from channels.db import database_sync_to_async
from django.conf import settings

from streamviz.api.readers import Reader
from streamviz.core.errors import RequestError, Unavailable
from streamviz.records.models import Stream

# A stream is in the record within this time after its request; until then it is looked up this many times.
NEW_SECONDS = 3.0
LOOKS, LOOK_SECONDS = 12, 0.25
_LONGEST = 50  # of what is told in place of an id

_reading: Counter[str] = Counter()


def not_found(stream_id: str) -> RequestError:
    """The same error for a stream that does not exist and for somebody else's."""
    return RequestError(404, f"There is no stream {stream_id} that you may read.", kind="not_found_error")


async def stream_for(reader: Reader, told: str) -> Stream:
    """The stream with the id that the reader told. Raises RequestError (404) if it does not exist, or this reader may
    not read it."""
    try:
        stream_id = UUID(told)
    except ValueError:
        raise not_found(told[:_LONGEST]) from None
    # The request may be megabytes. Not `afirst`, which would use a connection that Postgres has closed.
    find = database_sync_to_async(Stream.objects.filter(pk=stream_id).defer("request").first)
    stream = await find()
    # A stream that has just begun will soon be in the record.
    for _ in range(LOOKS if stream is None and _is_new(stream_id) else 0):
        await asyncio.sleep(LOOK_SECONDS)
        if (stream := await find()) is not None:
            break
    if stream is None or not await reader.may_read(stream):
        raise not_found(str(stream_id))
    return stream


def _is_new(stream_id: UUID) -> bool:
    """Whether the time in its id is recent."""
    return abs((stream_id.int >> 80) / 1000 - time()) < NEW_SECONDS


@contextmanager
def counted(reader: Reader) -> Iterator[None]:
    """Count one more stream that they read, while this lasts. Raises RequestError (429) if they read too many, and
    Unavailable if all readers together do."""
    if _reading[reader.name] >= settings.EVENT_READERS:
        message = f"You are already reading {settings.EVENT_READERS} streams, the most that may be read at once."
        raise RequestError(429, message, kind="rate_limit_error", headers={"retry-after": "5"})
    if _reading.total() >= settings.EVENT_READERS_TOTAL:
        raise Unavailable("all of this server's event readers are in use")
    _reading[reader.name] += 1
    try:
        yield
    finally:
        _reading[reader.name] -= 1
        if not _reading[reader.name]:
            del _reading[reader.name]
