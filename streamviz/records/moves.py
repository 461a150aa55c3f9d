"""Streams that were found to belong to another session, as the writer tells workers of them (`writer/linking.py`)."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import msgspec
import psycopg

log = logging.getLogger(__name__)

CHANNEL = "streamviz_moved"
RETRY_SECONDS = 1.0


class Move(msgspec.Struct, frozen=True):
    """A stream moved from session `old` to `new`, with all that goes on from it; `label` and `name` are those of
    the new one."""

    stream: UUID
    old: UUID
    new: UUID
    label: str
    name: str = ""


async def follow(conninfo: Callable[[], str], on_move: Callable[[Move], None]) -> None:
    """Call `on_move` for each move from now on, until this is cancelled.

    One that is told while Postgres cannot be reached is missed: the writer puts right what is recorded all the same.
    """
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                async for told in connection.notifies():
                    with suppress(msgspec.DecodeError):  # Another release's, or anybody's who may use the database.
                        on_move(msgspec.json.decode(told.payload, type=Move))
        except (psycopg.Error, OSError) as error:
            log.debug("moves between sessions cannot be followed: %s", error)
        await asyncio.sleep(RETRY_SECONDS)
