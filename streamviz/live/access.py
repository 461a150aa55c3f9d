"""Who may watch: the one permission that every page and websocket of streams requires."""

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
    """Return the code to close a socket with, or None if its user may watch. Asks the database each time: since the
    socket was opened, the session may have ended or the user may have been deactivated."""
    return await refusal_of(await user_now(scope))


async def refusal_of(user: User | AnonymousUser) -> int | None:
    """Like `refusal`, for a user that `user_now` has found."""
    if isinstance(user, AnonymousUser) or not user.is_active:
        return SIGNED_OUT
    may_view = await database_sync_to_async(user.has_perm)(VIEW_STREAMS)
    return None if may_view else FORBIDDEN


async def user_now(scope: MutableMapping[str, Any]) -> User | AnonymousUser:
    """The user whose session is in `scope`, as the database has them now."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    session = store(scope["session"].session_key)
    user: User | AnonymousUser = await get_user({"session": session})
    return user
