"""Who may read a stream's events, and how many streams at once: the key that made it, and whoever may see its page."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from time import time
from typing import Any
from uuid import UUID

from asgiref.typing import HTTPScope
from channels.db import database_sync_to_async
from django.conf import settings
from django.http import parse_cookie

from streamviz.core.errors import RequestError, Unavailable
from streamviz.live.access import VIEW_STREAMS, user_now
from streamviz.proxy import http
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.models import Stream

# A stream is in the record so soon after its request, and is looked for so often until then.
NEW_SECONDS = 3.0
LOOKS, LOOK_SECONDS = 12, 0.25

_reading: Counter[str] = Counter()


def not_found(stream_id: str) -> RequestError:
    """The same for a stream that is not there and for one that is somebody else's."""
    return RequestError(404, f"There is no stream {stream_id} that you may read.", kind="not_found_error")


class Reader(ABC):
    """Who reads; `name` is what their readings are counted under. One that `is_client` may know what it was sent, and
    not what policies kept from it."""

    name: str
    is_client: bool

    @abstractmethod
    async def may_read(self, stream: Stream) -> bool:
        """Whether they may, as things stand now."""


class KeyReader(Reader):
    """A client, with its key."""

    is_client = True

    def __init__(self, worker: Worker, key: KnownKey) -> None:
        self.name = f"key {key.id}"
        self._worker = worker
        self._key = key

    async def may_read(self, stream: Stream) -> bool:
        return stream.key_id == self._key.id and self._worker.configuration.is_in_use(self._key.id)


class UserReader(Reader):
    """Somebody with a browser, by their session."""

    is_client = False

    def __init__(self, session: Any, user_id: int) -> None:
        self.name = f"user {user_id}"
        self._scope = {"session": session}

    async def may_read(self, stream: Stream) -> bool:
        user = await user_now(self._scope)
        return user.is_active and await database_sync_to_async(user.has_perm)(VIEW_STREAMS)


async def reader_of(scope: HTTPScope, worker: Worker) -> Reader:
    """Who asks. Raises RequestError (401) where nobody can tell."""
    cookies = parse_cookie(http.header(scope, b"cookie"))
    session_key = cookies.get(settings.SESSION_COOKIE_NAME)
    if session_key and not http.credentials(scope) and not http.header(scope, b"x-streamviz-key"):
        session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
        user = await user_now({"session": session})
        if user.pk is not None:
            return UserReader(session, user.pk)
    return KeyReader(worker, worker.authenticate(scope))


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
        message = f"You read {settings.EVENT_READERS} streams already, and no more may be read at once."
        raise RequestError(429, message, kind="rate_limit_error", headers={"retry-after": "5"})
    if _reading.total() >= settings.EVENT_READERS_TOTAL:
        raise Unavailable("as many streams' events are read as one server may have readers")
    _reading[reader.name] += 1
    try:
        yield
    finally:
        _reading[reader.name] -= 1
        if not _reading[reader.name]:
            del _reading[reader.name]
