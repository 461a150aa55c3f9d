"""The runs in partitions of a day each, compressed, and the views that give one row a chunk and a frame.

Streams have ids that begin with the time (UUIDv7), so that the id alone says in which day's partition a stream is.
"""

TABLES = """
CREATE TABLE records_upstreamrun (
    stream_id uuid NOT NULL,
    first_seq integer NOT NULL,
    first_at bigint NOT NULL,
    offsets integer[] NOT NULL,
    lengths integer[] NOT NULL,
    payload bytea,
    PRIMARY KEY (stream_id, first_seq)
) PARTITION BY RANGE (stream_id);
CREATE TABLE records_clientrun (
    stream_id uuid NOT NULL,
    first_frame integer NOT NULL,
    first_at bigint NOT NULL,
    offsets integer[] NOT NULL,
    first_seq integer,
    origin text NOT NULL,
    lengths integer[] NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (stream_id, first_frame)
) PARTITION BY RANGE (stream_id);

-- A Postgres that was built without lz4 compresses with its own method instead.
DO $$
BEGIN
    ALTER TABLE records_upstreamrun ALTER COLUMN payload SET COMPRESSION lz4;
    ALTER TABLE records_clientrun ALTER COLUMN payload SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;

-- For what outlives its day, and for ids that are no UUIDv7 or of a day that has no partition.
CREATE TABLE records_upstreamrun_default PARTITION OF records_upstreamrun DEFAULT;
CREATE TABLE records_clientrun_default PARTITION OF records_clientrun DEFAULT;

-- Runs below 2 kB are compressed too, and none is moved to a table of its own.
ALTER TABLE records_upstreamrun
    ALTER COLUMN payload SET STORAGE MAIN,
    ALTER COLUMN offsets SET STORAGE MAIN,
    ALTER COLUMN lengths SET STORAGE MAIN;
ALTER TABLE records_clientrun
    ALTER COLUMN payload SET STORAGE MAIN,
    ALTER COLUMN offsets SET STORAGE MAIN,
    ALTER COLUMN lengths SET STORAGE MAIN;
ALTER TABLE records_upstreamrun_default SET (toast_tuple_target = 128);
ALTER TABLE records_clientrun_default SET (toast_tuple_target = 128);
"""

# Attached, as a partition that is created in its place would lock all others. What is inserted into the default one
# meanwhile would be in the way, so nothing is: attaching takes the same lock a moment later.
DAYS = """
CREATE FUNCTION streamviz_first_id(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

CREATE FUNCTION streamviz_make_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    child text;
    first uuid := streamviz_first_id(day::timestamp AT TIME ZONE 'UTC');
    behind uuid := streamviz_first_id((day + 1)::timestamp AT TIME ZONE 'UTC');
BEGIN
    FOREACH parent IN ARRAY ARRAY['records_upstreamrun', 'records_clientrun'] LOOP
        child := parent || to_char(day, '_YYYYMMDD');
        CONTINUE WHEN to_regclass(child) IS NOT NULL;
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent || '_default');
        -- Somebody else may have made it while this waited.
        CONTINUE WHEN to_regclass(child) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (toast_tuple_target = 128)', child, parent);
        EXECUTE format(
            'WITH moved AS (DELETE FROM %I WHERE stream_id >= %L AND stream_id < %L RETURNING *)'
            ' INSERT INTO %I SELECT * FROM moved',
            parent || '_default',
            first,
            behind,
            child
        );
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, first, behind);
    END LOOP;
END
$$;
"""

# Adding nothing to the payload makes Postgres decompress it once, and not once a chunk.
VIEWS = """
CREATE VIEW records_chunk AS
SELECT
    run.stream_id,
    run.first_seq + item.n - 1 AS seq,
    timestamptz 'epoch' + (run.first_at + item.later) * interval '1 microsecond' AS received_at,
    item.length,
    substring(whole.payload FROM (item.ends - item.length + 1)::int FOR item.length) AS raw
FROM records_upstreamrun AS run
CROSS JOIN LATERAL (SELECT run.payload || ''::bytea AS payload OFFSET 0) AS whole
CROSS JOIN LATERAL (
    SELECT n, later, length, sum(length) OVER (ORDER BY n) AS ends
    FROM unnest(run.offsets, run.lengths) WITH ORDINALITY AS each(later, length, n)
) AS item;

CREATE VIEW records_frame AS
SELECT
    run.stream_id,
    run.first_frame + item.n - 1 AS number,
    timestamptz 'epoch' + (run.first_at + item.later) * interval '1 microsecond' AS sent_at,
    run.first_seq + item.n - 1 AS seq,
    CASE WHEN run.first_seq IS NULL THEN run.origin ELSE 'upstream' END AS origin,
    CASE WHEN run.first_seq IS NULL
        THEN substring(whole.payload FROM (item.ends - item.length + 1)::int FOR item.length)
    END AS made
FROM records_clientrun AS run
CROSS JOIN LATERAL (SELECT run.payload || ''::bytea AS payload OFFSET 0) AS whole
CROSS JOIN LATERAL (
    SELECT n, later, length, sum(length) OVER (ORDER BY n) AS ends
    FROM unnest(run.offsets, run.lengths) WITH ORDINALITY AS each(later, length, n)
) AS item;
"""
