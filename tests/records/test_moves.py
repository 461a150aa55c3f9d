"""Workers are told of streams that moved to another session."""

import asyncio
import uuid

from streamviz.core.json_value import encode
from streamviz.records.database import conninfo
from streamviz.records.moves import CHANNEL, Move, follow
from tests.records.conftest import Query

MOVE = Move(uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3), "label")


async def test_what_is_no_move_is_passed_over(query: Query) -> None:
    heard = asyncio.Queue[Move]()
    following = asyncio.ensure_future(follow(conninfo, heard.put_nowait))
    async with asyncio.timeout(60):
        while heard.empty() and not following.done():
            for payload in ("odd", encode(MOVE).decode()):
                query("SELECT pg_notify(%s, %s)", CHANNEL, payload)
            await asyncio.sleep(0)
    assert not following.done()
    following.cancel()
    assert heard.get_nowait() == MOVE
