"""What a start makes of streams that an earlier run left open."""

import asyncio
import uuid

import psycopg
import pytest

from streamviz.core.context import Frame
from streamviz.records.database import conninfo
from streamviz.records.recovery import close_interrupted, show_life
from tests.records.conftest import Query
from tests.records.support import NOON, closed, opened, passed, received, sent, write

MICROSECONDS = "(extract(epoch FROM ended_at) * 1000000)::bigint"
LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"


@pytest.fixture
def stream_id() -> uuid.UUID:
    return uuid.uuid4()


async def test_it_closes_what_was_left_open_as_far_as_it_came(query: Query, stream_id: uuid.UUID) -> None:
    frames = [*passed([0]), Frame(b"made", None, "guard")]
    await write([opened(stream_id), received(stream_id, [b"a", b"b", b"c"]), sent(stream_id, frames)])
    assert await close_interrupted(conninfo()) == 1
    found = query(f"SELECT outcome, chunk_count, frame_count, {MICROSECONDS} FROM records_stream")
    assert found == [("interrupted", 3, 2, NOON + 2)]


async def test_it_ends_a_stream_with_nothing_in_it_when_it_began(query: Query, stream_id: uuid.UUID) -> None:
    await write([opened(stream_id)])
    assert await close_interrupted(conninfo()) == 1
    assert query(f"SELECT outcome, chunk_count, {MICROSECONDS} FROM records_stream") == [("interrupted", 0, NOON)]


async def test_it_leaves_alone_what_ended(query: Query, stream_id: uuid.UUID) -> None:
    await write([opened(stream_id), closed(stream_id)])
    assert await close_interrupted(conninfo()) == 0
    assert query("SELECT outcome FROM records_stream") == [("completed",)]


async def test_it_closes_nothing_while_a_worker_lives(query: Query, stream_id: uuid.UUID) -> None:
    await write([opened(stream_id)])
    async with await psycopg.AsyncConnection.connect(conninfo(), autocommit=True) as other_worker:
        await show_life(other_worker)
        assert await close_interrupted(conninfo()) == 0
        assert query("SELECT outcome FROM records_stream") == [("",)]
    async with asyncio.timeout(30):
        while query(LOCKS) != [(0,)]:  # Postgres is still ending the session
            await asyncio.sleep(0)
    assert await close_interrupted(conninfo()) == 1


async def test_a_late_end_puts_a_hasty_closing_right(query: Query, stream_id: uuid.UUID) -> None:
    await write([opened(stream_id)])
    await close_interrupted(conninfo())
    await write([closed(stream_id, outcome="completed")])
    assert query("SELECT outcome FROM records_stream") == [("completed",)]
