"""Streams that stayed open because their worker died.

Every living worker shares an advisory lock. Whoever can have it alone knows that no worker lives, so that every open
stream was left behind; while others live, an open stream may be theirs and nothing is closed. A stream closed wrongly
in the instant before a new worker has its share is put right when that worker closes it.
"""

import logging

import psycopg

from streamviz.records.models import Outcome

log = logging.getLogger(__name__)

_LIFE = 0x5354_5245_414D

_SHARE = "SELECT pg_advisory_lock_shared(%s)"
_TAKE_ALONE = "SELECT pg_try_advisory_xact_lock(%s)"
# How far a stream came is what the record has of it.
_CLOSE = """
UPDATE records_stream AS stream SET
    outcome = %s,
    chunk_count = (SELECT coalesce(sum(cardinality(lengths)), 0) FROM records_upstreamrun WHERE stream_id = stream.id),
    frame_count = (SELECT coalesce(sum(cardinality(lengths)), 0) FROM records_clientrun WHERE stream_id = stream.id),
    ended_at = coalesce(
        greatest(
            (SELECT max(received_at) FROM records_chunk WHERE stream_id = stream.id),
            (SELECT max(sent_at) FROM records_frame WHERE stream_id = stream.id)
        ),
        requested_at
    )
WHERE outcome = ''
"""


async def show_life(connection: psycopg.AsyncConnection) -> None:
    """Let other workers know that this one lives, for as long as the connection does."""
    await connection.execute(_SHARE, [_LIFE])


async def close_interrupted(conninfo: str) -> int:
    """Close the streams that nobody runs any more, as `interrupted`, and give their number. Called before the start."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        alone = await (await connection.execute(_TAKE_ALONE, [_LIFE])).fetchone()
        if alone != (True,):
            return 0
        closed = await connection.execute(_CLOSE, [Outcome.INTERRUPTED])
    if closed.rowcount:
        log.warning("%d streams were open when streamviz last ended: closed as interrupted", closed.rowcount)
    return closed.rowcount
