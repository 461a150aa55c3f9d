"""Retention's SQL: which streams are kept for longer, which have expired, and how much they take."""

IS_KEPT = """
(%(kept_days)s = 0 OR stream.requested_at >= %(now)s - %(kept_days)s * interval '1 day')
AND (
    EXISTS (SELECT FROM records_session AS session WHERE session.id = stream.session_id AND session.is_starred)
    OR EXISTS (SELECT FROM records_annotation AS kept WHERE kept.stream_id = stream.id AND kept.is_starred)
    OR EXISTS (
        SELECT FROM records_verdict AS verdict
        WHERE verdict.stream_id = stream.id AND verdict.mode = 'enforce' AND verdict.decision <> 'allow'
    )
)
"""
# Running streams are kept, however old they are.
KEPT_OF_DAY = f"""
SELECT id FROM records_stream AS stream
WHERE id >= streamviz_first_id(%(day)s) AND id < streamviz_first_id(%(day)s + interval '1 day')
AND (outcome = '' OR {IS_KEPT})
"""  # noqa: S608
# Streams in the default partition are not dropped with any other, and keep what belongs to them until they are deleted
# themselves.
KEPT_OF_STREAMS = f"""
SELECT id FROM records_stream AS stream
WHERE (%(first)s::date IS NULL OR id >= streamviz_first_id(%(first)s::date::timestamp AT TIME ZONE 'UTC'))
AND id < streamviz_first_id(%(behind)s::date::timestamp AT TIME ZONE 'UTC')
AND (tableoid = 'records_stream_default'::regclass OR outcome = '' OR {IS_KEPT})
"""  # noqa: S608
COUNT_STREAMS = f"SELECT count(*) FROM {{table}} AS stream WHERE outcome <> '' AND NOT ({IS_KEPT})"  # noqa: S608
# Of what is not dropped by the day: streams that outlived their day and have expired now, and ids without a date.
_EXPIRED = f"""
FROM {{table}} AS stream
WHERE requested_at < %(now)s - %(days)s * interval '1 day' AND outcome <> '' AND NOT ({IS_KEPT})
"""
EXPIRED_STREAMS = f"SELECT id, session_id {_EXPIRED} ORDER BY requested_at LIMIT %(most)s"
COUNT_EXPIRED_STREAMS = f"SELECT count(*) {_EXPIRED}"
REST = """
SELECT relname FROM pg_class WHERE relname IN ('records_stream_past', 'records_stream_default') AND relispartition
"""
# Chunks that outlived their day, here or in the archive, but are no longer kept. A stream that was deleted meanwhile
# has left nothing.
EXPIRED_IN_DEFAULT = f"""
SELECT stream.id FROM records_stream AS stream
WHERE stream.id IN (
    SELECT stream_id FROM records_upstreamrun_default UNION SELECT stream_id FROM records_clientrun_default
    UNION SELECT stream_id FROM records_archivedpart WHERE stream_id < streamviz_first_id(%(first_kept)s)
)
AND requested_at < %(now)s - %(days)s * interval '1 day' AND outcome <> '' AND NOT ({IS_KEPT})
"""  # noqa: S608
SESSIONS_OF = "SELECT DISTINCT session_id FROM {table}"
# This waits for anybody storing a stream, but then sees only the session's own new row of what was stored. Public links
# go too: they were not made for a new session that may get the same id.
DELETE_EMPTY_SESSIONS = """
WITH gone AS (
    DELETE FROM records_session AS session WHERE id = ANY(%(ids)s) AND NOT is_starred
    AND last_at < %(now)s - %(days)s * interval '1 day'
    AND NOT EXISTS (SELECT FROM records_stream WHERE session_id = session.id)
    RETURNING id
) DELETE FROM records_publiclink WHERE session_id IN (SELECT id FROM gone)
"""
SIZE_OF_DAY = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0) + (
    SELECT coalesce(sum(size), 0) FROM records_archivedpart
    WHERE stream_id >= streamviz_first_id(%(day)s) AND stream_id < streamviz_first_id(%(day)s + interval '1 day')
)
FROM pg_class WHERE relname = ANY(%(names)s)
"""
# Roughly how much a stream takes, with its blocks and verdicts.
STREAM_SIZE = """
SELECT coalesce(
    sum(pg_total_relation_size(leaf.oid))
    / nullif(sum(greatest(leaf.reltuples, 0)) FILTER (WHERE root = 'records_stream'), 0),
    0
)
FROM unnest(%(tables)s::text[]) AS root, pg_partition_tree(root::regclass) AS tree
JOIN pg_class AS leaf ON leaf.oid = tree.relid WHERE tree.isleaf
"""
