"""Delete whole sessions and streams."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from streamviz.records.archive.statements import FORGET_STREAMS
from streamviz.records.moves import DELETED

# Storing a stream locks its session, so a stream being stored is there once this lock is held, and is deleted as well.
LOCK_SESSION = "SELECT FROM records_session WHERE id = %s FOR UPDATE"
LOCK = "SELECT id FROM records_stream WHERE session_id = %s ORDER BY id FOR UPDATE"
REMEMBER = """
INSERT INTO records_deletedstream (stream_id, deleted_at) SELECT id, now() FROM unnest(%s::uuid[]) AS id
ON CONFLICT DO NOTHING
"""
# By the servers' clock, as request times are: if Postgres' clock were ahead, later streams of the session would be
# lost.
REMEMBER_SESSION = """
INSERT INTO records_deletedsession (session_id, deleted_at) VALUES (%s, %s)
ON CONFLICT (session_id) DO UPDATE SET deleted_at = excluded.deleted_at
"""
# Examples of back-tests have reasons, which may quote what a stream said, so they go with the stream.
_FORGET = """
UPDATE records_backtest AS backtest SET examples = left_over.examples
FROM (
    SELECT id, coalesce(jsonb_agg(example ORDER BY place) FILTER (WHERE NOT is_gone), '[]') AS examples
    FROM (
        SELECT one.id, example, place, {} AS is_gone
        FROM records_backtest AS one, jsonb_array_elements(one.examples) WITH ORDINALITY AS of_one (example, place)
        WHERE one.examples <> '[]'
    ) AS told
    GROUP BY id HAVING bool_or(is_gone)
) AS left_over WHERE backtest.id = left_over.id
"""
_STREAM = "(example ->> 'stream')::uuid"
FORGET_EXAMPLES = _FORGET.format(f"{_STREAM} = ANY(%s)")
FORGET_EXAMPLES_IN = _FORGET.format(f"EXISTS (SELECT FROM {{child}} WHERE id = {_STREAM} AND id <> ALL(%(kept)s))")
# With explicit ids, Postgres reads only the partitions that can have them.
DELETE_STREAMS = (
    "DELETE FROM records_upstreamrun WHERE stream_id = ANY(%s)",
    "DELETE FROM records_clientrun WHERE stream_id = ANY(%s)",
    "DELETE FROM records_stall WHERE stream_id = ANY(%s)",
    "DELETE FROM records_lintnote WHERE stream_id = ANY(%s)",
    "DELETE FROM records_requestwords WHERE stream_id = ANY(%s)",
    "DELETE FROM records_verdict WHERE stream_id = ANY(%s)",
    "DELETE FROM records_block WHERE stream_id = ANY(%s)",
    "DELETE FROM records_annotation WHERE stream_id = ANY(%s)",
    "DELETE FROM records_publiclink WHERE stream_id = ANY(%s)",
    FORGET_EXAMPLES,
    "DELETE FROM records_stream WHERE id = ANY(%s)",
    # Last: a stream's row cannot be deleted while the stream is being archived.
    FORGET_STREAMS,
)


@transaction.atomic
def delete_session(session_id: UUID) -> int:
    """Delete a session with all that is recorded of its streams, running ones included; gives how many there were.

    What a journal still holds of them, and of others requested before now, is no longer stored. Workers forget the
    streams that have ended; running ones continue.
    """
    with connection.cursor() as cursor:
        for statement in (LOCK, LOCK_SESSION, LOCK):
            cursor.execute(statement, [session_id])
        ids = [row[0] for row in cursor.fetchall()]
        cursor.execute(REMEMBER, [ids])
        cursor.execute(REMEMBER_SESSION, [session_id, timezone.now()])
        delete_streams(ids)
        cursor.execute("DELETE FROM records_publiclink WHERE session_id = %s", [session_id])
        cursor.execute("DELETE FROM records_session WHERE id = %s", [session_id])
        cursor.execute("SELECT pg_notify(%s, %s)", [DELETED, str(session_id)])
    return len(ids)


def delete_streams(ids: Sequence[UUID]) -> None:
    """Delete streams with everything that belongs to them; to be called in a transaction."""
    with connection.cursor() as cursor:
        for statement in DELETE_STREAMS:
            cursor.execute(statement, [list(ids)])
