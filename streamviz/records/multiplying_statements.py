"""The SQL for copies of streams: where their values come from, and which totals are added."""

# Copies are spread over the time of their partition; the copies of one session's streams form a session.
COPIES = """
CREATE TEMP TABLE copy ON COMMIT DROP AS
WITH whole AS (SELECT min(requested_at) AS since, max(requested_at) - min(requested_at) AS lasts FROM {child})
SELECT old.id AS old, n, md5(old.session_id::text || n)::uuid AS session_id, at - old.requested_at AS later,
    (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(random, 1, 3) || '8'
    || substr(random, 4, 15))::uuid AS id
FROM {child} AS old CROSS JOIN whole CROSS JOIN generate_series(1, %(copies)s) AS n,
    LATERAL (SELECT md5(old.id::text || n)) AS m (random),
    LATERAL (SELECT since + make_interval(secs => mod(
        extract(epoch FROM old.requested_at - since) + n * extract(epoch FROM lasts) / (%(copies)s + 1.0),
        extract(epoch FROM lasts) + 0.001
    )::float)) AS moved (at)
"""
_TIMES = {
    *("requested_at", "upstream_first_at", "client_first_at", "ended_at", "at"),
    *("started_at", "completed_at", "held_at", "released_at"),
}
_OTHERS = {"id": "copy.id", "stream_id": "copy.id", "session_id": "copy.session_id"}
# Made-up marks, as a stream has some.
_MARKS = "ARRAY[('x' || substr(md5(copy.id::text), 1, 16))::bit(64)::bigint, hashtextextended(copy.id::text, 1)]"
COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""
SESSIONS = """
INSERT INTO records_session (id, label, name, started_at, last_at, is_starred, note, key_id)
SELECT copy.session_id, max(session.label || ' ' || n), '', min(stream.requested_at), max(stream.requested_at), false,
    '', NULL
FROM copy JOIN {child} AS stream USING (id) JOIN {child} AS first ON first.id = copy.old
JOIN records_session AS session ON session.id = first.session_id
GROUP BY copy.session_id
ON CONFLICT (id) DO UPDATE SET
    started_at = least(records_session.started_at, excluded.started_at),
    last_at = greatest(records_session.last_at, excluded.last_at)
"""
HALF_HOURS = """
INSERT INTO records_halfhour (
    requested_at, requested_model, provider, key_id, outcome,
    streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens, estimated
)
SELECT streamviz_half_hour(requested_at), requested_model, provider, key_id, outcome, count(*),
    coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cost), 0), count(input_tokens),
    count(output_tokens), count(cost), coalesce(sum(cache_read_tokens), 0), count(*) FILTER (WHERE is_estimated)
FROM copy JOIN {child} USING (id) GROUP BY 1, 2, 3, 4, 5
"""


def copied_value(column: str) -> str:
    """What a copy has in this column."""
    if column == "marks":
        return _MARKS
    if column in _TIMES:
        return f'one."{column}" + copy.later'
    return _OTHERS.get(column, f'one."{column}"')
