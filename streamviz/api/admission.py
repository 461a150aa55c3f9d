"""Which stream somebody reads the events of, and how many at once."""

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

# A stream is in the record so soon after its request, and is looked for so often until then.
NEW_SECONDS = 3.0
LOOKS, LOOK_SECONDS = 12, 0.25

_reading: Counter[str] = Counter()


def not_found(stream_id: str) -> RequestError:
    """The same for a stream that is not there and for one that is somebody else's."""
    return RequestError(404, f"There is no stream {stream_id} that you may read.", kind="not_found_error")


async def stream_for(reader: Reader, stream_id: UUID) -> Stream:
    """Raises RequestError (404) for a stream that is not there, or not for them."""
    # What was asked may be megabytes. Not `afirst`, which goes on with a connection that Postgres has closed.
    find = database_sync_to_async(Stream.objects.filter(pk=stream_id).defer("request").first)
    stream = await find()
    # One that has just begun is in the record soon.
    for _ in range(LOOKS if stream is None and _is_new(stream_id) else 0):
        await asyncio.sleep(LOOK_SECONDS)
        if (stream := await find()) is not None:
            break
    if stream is None or not await reader.may_read(stream):
        raise not_found(str(stream_id))
    return stream


def _is_new(stream_id: UUID) -> bool:
    """By the time in its id."""
    return abs((stream_id.int >> 80) / 1000 - time()) < NEW_SECONDS


@contextmanager
def counted(reader: Reader) -> Iterator[None]:
    """While this lasts they read one stream more. Raises RequestError (429) where they read enough, and Unavailable
    where all readers together do."""
    if _reading[reader.name] >= settings.EVENT_READERS:
        message = f"You are already reading {settings.EVENT_READERS} streams, and no more can be read at once."
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
