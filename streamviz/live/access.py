"""Who may watch: the one permission that every page and socket of streams needs."""

from collections.abc import MutableMapping
from importlib import import_module
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from streamviz.live.subscriber import FORBIDDEN, SIGNED_OUT

VIEW_STREAMS = "records.view_stream"


async def refusal(scope: MutableMapping[str, Any]) -> int | None:
    """The code to close a socket with, or None where its user may watch. Asks the database each time: a session may
    have ended, and a user may have been deactivated, since the socket was opened."""
    return await refusal_of(await user_now(scope))


async def refusal_of(user: User | AnonymousUser) -> int | None:
    """The same for somebody whom `user_now` has found."""
    if isinstance(user, AnonymousUser) or not user.is_active:
        return SIGNED_OUT
    may_view = await database_sync_to_async(user.has_perm)(VIEW_STREAMS)
    return None if may_view else FORBIDDEN


async def user_now(scope: MutableMapping[str, Any]) -> User | AnonymousUser:
    """Whose the session in `scope` is, as the database has it."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    session = store(scope["session"].session_key)
    user: User | AnonymousUser = await get_user({"session": session})
    return user
