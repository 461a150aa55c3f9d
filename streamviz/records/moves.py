"""Notifications about streams, for workers that have them in memory: a stream was found to belong to another session
(`writer/linking.py`), or was deleted with its session (`deletion.py`)."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import msgspec
import psycopg

log = logging.getLogger(__name__)

CHANNEL = "streamviz_moved"
DELETED = "streamviz_deleted"  # of sessions; the payload is the session's id
RETRY_SECONDS = 1.0


class Move(msgspec.Struct, frozen=True):
    """A stream moved from session `old` to `new`, with all that continues from it; `label` and `name` are those of the
    new session."""

    stream: UUID
    old: UUID
    new: UUID
    label: str
    name: str = ""


async def follow(
    conninfo: Callable[[], str], on_move: Callable[[Move], None], on_deleted: Callable[[UUID], object]
) -> None:
    """Call `on_move` for each move, and `on_deleted` for each deleted session, until cancelled.

    Notifications sent while Postgres cannot be reached are missed; the record is right all the same.
    """
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                await connection.execute(f"LISTEN {DELETED}")
                async for told in connection.notifies():
                    with suppress(ValueError):  # from another release, or from anybody else who may write
                        if told.channel == DELETED:
                            on_deleted(UUID(told.payload))
                        else:
                            on_move(msgspec.json.decode(told.payload, type=Move))
        except (psycopg.Error, OSError) as error:
            log.debug("what becomes of sessions cannot be followed: %s", error)
        await asyncio.sleep(RETRY_SECONDS)
