"""Merge the tallies that the writer adds one by one, and forget those that no limit counts any more."""

import psycopg

# Hours are told apart for a day, as limits count those of a key's running hour.
_SPAN = "date_trunc(CASE WHEN began_at > now() - interval '1 day' THEN 'hour' ELSE 'day' END, began_at, 'UTC')"
_SAME = f"session_id, key_id, {_SPAN}, requested_model, provider, upstream_model, other_names, is_unread"
# Readers see either the rows from before or those from after. Another writer that does the same merges other rows.
# Those of earlier days are merged already.
_PUT_TOGETHER = f"""
WITH piece AS (
    DELETE FROM records_tally WHERE id IN (
        SELECT id FROM (
            SELECT id, count(*) OVER (PARTITION BY {_SAME}) AS rows FROM records_tally
            WHERE began_at > now() - interval '3 days'
        ) AS counted WHERE rows > 1
    ) RETURNING *
)
INSERT INTO records_tally (
    session_id, key_id, began_at, requested_model, provider, upstream_model, other_names, is_unread,
    streams, blocks, tool_calls, output_tokens, cost, estimated, unpriced
)
SELECT session_id, key_id, min(began_at), requested_model, provider, upstream_model, other_names, is_unread,
    sum(streams), sum(blocks), sum(tool_calls), sum(output_tokens), sum(cost), sum(estimated), sum(unpriced)
FROM piece GROUP BY {_SAME} HAVING sum(streams) <> 0
"""  # noqa: S608
# A move of a session's rows would not see those that a merge under way has made: each waits for the other.
ALONE = "SELECT pg_advisory_xact_lock(92696397494611)"
# A key's month has up to 31 days. A session is counted for as long as any of it is kept.
FORGET = """
DELETE FROM records_tally AS tally WHERE began_at < %s - interval '32 days'
AND (session_id IS NULL OR NOT EXISTS (SELECT FROM records_session WHERE id = tally.session_id))
"""


def put_together(connection: psycopg.Connection) -> None:
    """Leave one row for all streams of an hour, or of a day before the last, that agree in everything. Raises
    psycopg.Error."""
    with connection.transaction():
        connection.execute(ALONE)
        connection.execute(_PUT_TOGETHER)
