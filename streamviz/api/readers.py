"""Who may read a stream's events: the key that made it, and whoever may see its page."""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

from asgiref.typing import HTTPScope
from channels.db import database_sync_to_async
from django.conf import settings
from django.http import parse_cookie

from streamviz.live.access import VIEW_STREAMS, user_now
from streamviz.proxy import http
from streamviz.proxy.worker import Worker
from streamviz.records.configuration import KnownKey
from streamviz.records.models import Stream


class Reader(ABC):
    """Somebody who reads events; `name` is what their readings are counted under. If `is_client`, they may know what
    the client was sent, but not what policies kept from it."""

    name: str
    is_client: bool

    @abstractmethod
    async def may_read(self, stream: Stream) -> bool:
        """Whether they may read it, as things stand now."""


class KeyReader(Reader):
    """A client, identified by its key."""

    is_client = True

    def __init__(self, worker: Worker, key: KnownKey) -> None:
        self.name = f"key {key.id}"
        self._worker = worker
        self._key = key

    async def may_read(self, stream: Stream) -> bool:
        return stream.key_id == self._key.id and self._worker.configuration.is_in_use(self._key.id)


class UserReader(Reader):
    """A person with a browser, identified by their sign-in."""

    is_client = False

    def __init__(self, session: Any, user_id: int) -> None:
        self.name = f"user {user_id}"
        self._scope = {"session": session}

    async def may_read(self, stream: Stream) -> bool:
        user = await user_now(self._scope)
        return user.is_active and await database_sync_to_async(user.has_perm)(VIEW_STREAMS)


async def reader_of(scope: HTTPScope, worker: Worker) -> Reader:
    """Who makes the request. Raises RequestError (401) if that cannot be told."""
    cookies = parse_cookie(http.header(scope, b"cookie"))
    session_key = cookies.get(settings.SESSION_COOKIE_NAME)
    if session_key and not http.credentials(scope) and not http.header(scope, b"x-streamviz-key"):
        session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
        user = await user_now({"session": session})
        if user.pk is not None:
            return UserReader(session, user.pk)
    return KeyReader(worker, worker.authenticate(scope))
