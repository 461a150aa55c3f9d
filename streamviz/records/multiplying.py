"""Making many streams of few, for trials with millions: copies of a made-up history, without chunks."""

from collections.abc import Callable, Mapping

import psycopg

from streamviz.records.partitions import PARTITIONS, STREAMS, Partition, key_of

# Copies are spread over the time of their partition; those of a session's streams are a session.
_COPIES = """
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
# What others would know it by: a stream has some.
_MARKS = "ARRAY[('x' || substr(md5(copy.id::text), 1, 16))::bit(64)::bigint, hashtextextended(copy.id::text, 1)]"
_COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""
_SESSIONS = """
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
_HALF_HOURS = """
INSERT INTO records_halfhour (
    requested_at, requested_model, provider, key_id, outcome,
    streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens, estimated
)
SELECT streamviz_half_hour(requested_at), requested_model, provider, key_id, outcome, count(*),
    coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cost), 0), count(input_tokens),
    count(output_tokens), count(cost), coalesce(sum(cache_read_tokens), 0), count(*) FILTER (WHERE is_estimated)
FROM copy JOIN {child} USING (id) GROUP BY 1, 2, 3, 4, 5
"""


def multiply(connection: psycopg.Connection, copies: int, say: Callable[[str], None]) -> None:
    """Store so many copies of each stream, a partition at a time: its tables are made anew, and their indexes last."""
    found = [Partition(*row) for row in connection.execute(PARTITIONS, {"tables": list(STREAMS)})]
    spans = {(each.first, each.behind) for each in found if each.has_streams}
    for span in sorted(spans, key=lambda each: each[1]):
        tables = {each.table: each.name for each in found if (each.first, each.behind) == span}
        if connection.execute(f"SELECT 1 FROM {tables['records_stream']} LIMIT 1").fetchone():  # noqa: S608
            _multiply(connection, tables, copies)
            say(f"{tables['records_stream']}: each stream {copies + 1:,} times")


def _multiply(connection: psycopg.Connection, tables: Mapping[str, str], copies: int) -> None:
    with connection.transaction():
        child = tables["records_stream"]
        connection.execute(_COPIES.format(child=child).replace("%(copies)s", str(copies)))
        connection.execute("CREATE UNIQUE INDEX ON copy (id); CREATE INDEX ON copy (old); ANALYZE copy")
        for table, name in tables.items():
            _grow(connection, table, name)
        connection.execute(_SESSIONS.format(child=child))
        connection.execute(_HALF_HOURS.format(child=child))


def _grow(connection: psycopg.Connection, table: str, child: str) -> None:
    columns = [name for (name,) in connection.execute(_COLUMNS, [table])]
    quoted = [f'"{name}"' for name in columns]
    values = ", ".join(_value(name) for name in columns)
    [(bound, options)] = connection.execute(
        "SELECT pg_get_expr(relpartbound, oid), 'WITH (' || array_to_string(reloptions, ', ') || ')'"
        " FROM pg_class WHERE oid = %s::regclass",
        [child],
    )
    connection.execute(f"CREATE TABLE more (LIKE {table} INCLUDING ALL EXCLUDING INDEXES) {options or ''}")
    connection.execute(
        f"INSERT INTO more ({', '.join(quoted)}) SELECT {', '.join(quoted)} FROM {child}"  # noqa: S608
        f" UNION ALL SELECT {values} FROM copy JOIN {child} AS one ON one.{key_of(table)} = copy.old"
    )
    connection.execute(f"ALTER TABLE {table} DETACH PARTITION {child}; DROP TABLE {child}")
    connection.execute(f"ALTER TABLE more RENAME TO {child}")
    connection.execute(f"ALTER TABLE {table} ATTACH PARTITION {child} {bound}")


def _value(column: str) -> str:
    if column == "marks":
        return _MARKS
    if column in _TIMES:
        return f'one."{column}" + copy.later'
    return _OTHERS.get(column, f'one."{column}"')
