"""Workers are notified of streams that moved to another session, and of deleted sessions."""

import asyncio
import uuid

from asgiref.sync import sync_to_async
from django.db import connections

from streamviz.core.json_value import encode
from streamviz.records.database import conninfo
from streamviz.records.deletion import delete_session
from streamviz.records.moves import CHANNEL, DELETED, Move, follow
from tests.records.conftest import Query
from tests.records.history import day, store, story

MOVE = Move(uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3), "label")


async def test_what_is_no_move_is_passed_over(query: Query) -> None:
    heard = asyncio.Queue[Move]()
    following = asyncio.ensure_future(follow(conninfo, heard.put_nowait, lambda _: None))
    async with asyncio.timeout(60):
        while heard.empty() and not following.done():
            for payload in ("odd", encode(MOVE).decode()):
                query("SELECT pg_notify(%s, %s)", CHANNEL, payload)
            await asyncio.sleep(0)
    assert not following.done()
    following.cancel()
    assert heard.get_nowait() == MOVE


def _delete(session: uuid.UUID) -> None:
    delete_session(session)
    connections.close_all()  # those of this thread


async def test_workers_are_told_of_a_session_that_is_deleted(query: Query) -> None:
    store(story(day(1)), story(day(2)))
    [(kept,), (gone,)] = query("SELECT id FROM records_session ORDER BY id")
    heard = asyncio.Queue[uuid.UUID]()
    following = asyncio.ensure_future(follow(conninfo, lambda _: None, heard.put_nowait))
    async with asyncio.timeout(60):
        while heard.empty() and not following.done():
            query("SELECT pg_notify(%s, 'odd'), pg_notify(%s, %s)", DELETED, DELETED, str(kept))
            await asyncio.sleep(0)
        await sync_to_async(_delete)(gone)
        told = {await heard.get()}
        while gone not in told:
            told.add(await heard.get())
    following.cancel()
    assert told == {kept, gone}
