"""The archive's SQL."""

from psycopg import sql

# The streams after one that have runs in Postgres, up to a time, and whether each has ended; runs without a stream
# count as not ended.
NEXT = """
SELECT run.stream_id, coalesce(stream.outcome <> '', false)
FROM (
    (
        SELECT DISTINCT stream_id FROM records_upstreamrun
        WHERE stream_id > %(after)s AND stream_id < streamviz_first_id(%(behind)s) ORDER BY stream_id LIMIT %(most)s
    )
    UNION
    (
        SELECT DISTINCT stream_id FROM records_clientrun
        WHERE stream_id > %(after)s AND stream_id < streamviz_first_id(%(behind)s) ORDER BY stream_id LIMIT %(most)s
    )
) AS run LEFT JOIN records_stream AS stream ON stream.id = run.stream_id
ORDER BY run.stream_id LIMIT %(most)s
"""
UPSTREAM = """
SELECT stream_id, first_seq, first_at, offsets, lengths, payload FROM records_upstreamrun
WHERE stream_id = ANY(%s) ORDER BY stream_id, first_seq
"""
CLIENT = """
SELECT stream_id, first_frame, first_at, offsets, first_seq, origin, lengths, payload FROM records_clientrun
WHERE stream_id = ANY(%s) ORDER BY stream_id, first_frame
"""
# Its size is set once it is there, or known not to be.
INSERT_OBJECT = """
INSERT INTO records_archiveobject (id, key, size, made_at, is_stale) VALUES (%s, %s, 0, now(), true)
"""
ARRIVED = "UPDATE records_archiveobject SET size = %s WHERE id = %s"
NOT_STALE = "UPDATE records_archiveobject SET is_stale = false WHERE id = %s"
# Anybody deleting one of them waits, and then finds its parts.
STAY = "SELECT id FROM records_stream WHERE id = ANY(%s) AND outcome <> '' ORDER BY id FOR KEY SHARE"
INSERT_PART = """
INSERT INTO records_archivedpart (
    stream_id, number, object_id, start, size,
    length, first_seq, end_seq, first_frame, end_frame, chunks, payload_bytes, is_whole
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
DELETE_UPSTREAM = "DELETE FROM records_upstreamrun WHERE stream_id = ANY(%s)"
DELETE_CLIENT = "DELETE FROM records_clientrun WHERE stream_id = ANY(%s)"
# Day partitions that take disk space, not counting the first pages of their indexes.
LARGE_DAYS = """
SELECT relname FROM pg_class
WHERE relname ~ '^records_(upstream|client)run_[0-9]{8}$' AND pg_relation_size(oid) > 0 ORDER BY relname
"""
LOCK_DAY = "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE"
IS_EMPTY = "SELECT NOT EXISTS (SELECT FROM {})"
TRUNCATE = "TRUNCATE {}"
# An object without a size may still be on its way to the storage, from a writer that has lost its connection here: if
# it were deleted before it arrives, it would stay there.
STALE = """
SELECT id, key, size FROM records_archiveobject
WHERE is_stale AND (size > 0 OR made_at < now() - interval '1 hour') ORDER BY made_at
"""
PARTS = "SELECT stream_id, number, start, size, length FROM records_archivedpart WHERE object_id = %s ORDER BY start"
COUNT_PARTS = "SELECT count(*) FROM records_archivedpart WHERE object_id = %s"
MOVE_PART = "UPDATE records_archivedpart SET object_id = %s, start = %s WHERE stream_id = %s AND number = %s"
DELETE_OBJECT = "DELETE FROM records_archiveobject WHERE id = %s"

# Deletes parts, and marks their objects, which now hold bytes to be removed.
_FORGET = """
WITH gone AS (DELETE FROM records_archivedpart WHERE {} RETURNING object_id)
UPDATE records_archiveobject SET is_stale = true WHERE id IN (SELECT object_id FROM gone)
"""
FORGET_STREAMS = _FORGET.format("stream_id = ANY(%s)")
FORGET_THOSE = _FORGET.format("stream_id IN ({})")
FORGET_DAY = _FORGET.format(
    "stream_id >= streamviz_first_id(%(day)s) AND stream_id < streamviz_first_id(%(day)s + interval '1 day')"
    " AND stream_id <> ALL(%(kept)s)"
)


def named(statement: str, table: str) -> sql.Composed:
    """A statement about one table."""
    return sql.SQL(statement).format(sql.Identifier(table))
