"""Checks of what a server needs: the database, the channel layer and the journal."""

import asyncio
from collections.abc import Awaitable, Callable

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection

from streamviz.live.peer_channel import away
from streamviz.proxy.worker import worker
from streamviz.records.backlog import backlog

# A probe waits no longer for what is only reported.
SECONDS = 2.0
OK = "ok"
Check = Callable[[], Awaitable[str]]


async def facts_now() -> dict[str, str]:
    """What this server finds about what it needs: for each, OK or what is wrong."""
    checks: dict[str, Check] = {"database": _database, "channel_layer": _channel_layer, "journal": _journal}
    answers = await asyncio.gather(*(_within_time(check) for check in checks.values()))
    return {"server": worker.why_refused() or OK, **dict(zip(checks, answers, strict=True))}


async def _within_time(check: Check) -> str:
    try:
        return await asyncio.wait_for(check(), SECONDS)
    except TimeoutError:
        return "no answer"


async def _database() -> str:
    return await sync_to_async(_ask_database)()


def _ask_database() -> str:
    close_old_connections()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:  # A stranger need not know why; the log says it.
        return "cannot be reached"
    return OK


async def _channel_layer() -> str:
    """Send a message to ourselves and receive it."""
    layer = get_channel_layer()
    try:
        name = await layer.new_channel()
        await layer.send(name, {"type": "probe", "data": b""})
        await layer.receive(name)
    except away():
        return "cannot be reached"
    return OK


async def _journal() -> str:
    found = await asyncio.to_thread(backlog, settings.JOURNAL_DIR, settings.JOURNAL_LIMITS)
    if found.full:
        return found.full
    return found.stuck or OK
