"""The runs in partitions of a day each, compressed, and the views that give one row a chunk and a frame."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

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

# Adding nothing to the payload makes Postgres decompress it once, and not once a chunk.
CHUNKS = """
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
"""
# As `core/unasked_usage.py` takes it off. NULL where there is nothing to be taken off.
FRAMES = """
CREATE FUNCTION streamviz_without_usage(raw bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    member bytea;
    at int;
BEGIN
    FOREACH member IN ARRAY ARRAY[',"usage":null'::bytea, ', "usage": null'::bytea] LOOP
        at := position(member IN raw);
        IF at > 0 AND position(member IN substring(raw FROM at + 1)) = 0 THEN
            RETURN overlay(raw PLACING ''::bytea FROM at FOR length(member));
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE FUNCTION streamviz_chunk(of_stream uuid, wanted int) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT substring(
        payload
        FROM (SELECT coalesce(sum(length), 0) FROM unnest(lengths[1:wanted - first_seq]) AS length)::int + 1
        FOR lengths[wanted - first_seq + 1]
    )
    FROM records_upstreamrun WHERE stream_id = of_stream AND first_seq <= wanted ORDER BY first_seq DESC LIMIT 1
$$;

CREATE OR REPLACE VIEW records_frame AS
SELECT
    run.stream_id,
    run.first_frame + item.n - 1 AS number,
    timestamptz 'epoch' + (run.first_at + item.later) * interval '1 microsecond' AS sent_at,
    run.first_seq + item.n - 1 AS seq,
    CASE WHEN run.first_seq IS NULL THEN run.origin ELSE 'upstream' END AS origin,
    CASE
        WHEN run.first_seq IS NULL
        THEN substring(whole.payload FROM (item.ends - item.length + 1)::int FOR item.length)
        WHEN (SELECT hides_usage FROM records_stream WHERE id = run.stream_id)
        THEN streamviz_without_usage(streamviz_chunk(run.stream_id, (run.first_seq + item.n - 1)::int))
    END AS made
FROM records_clientrun AS run
CROSS JOIN LATERAL (SELECT run.payload || ''::bytea AS payload OFFSET 0) AS whole
CROSS JOIN LATERAL (
    SELECT n, later, length, sum(length) OVER (ORDER BY n) AS ends
    FROM unnest(run.offsets, run.lengths) WITH ORDINALITY AS each(later, length, n)
) AS item;
"""

# Made by `TABLES`.
STATE = [
    migrations.CreateModel(
        name="UpstreamRun",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "stream_id", "first_seq", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("first_seq", models.IntegerField()),
            ("first_at", models.BigIntegerField()),
            ("offsets", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("lengths", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("payload", models.BinaryField(null=True)),
            (
                "stream",
                models.ForeignKey(
                    db_constraint=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="upstream_runs",
                    to="records.stream",
                ),
            ),
        ],
    ),
    migrations.CreateModel(
        name="ClientRun",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "stream_id", "first_frame", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("first_frame", models.IntegerField()),
            ("first_at", models.BigIntegerField()),
            ("offsets", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("first_seq", models.IntegerField(null=True)),
            ("origin", models.TextField(blank=True)),
            ("lengths", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ("payload", models.BinaryField()),
            (
                "stream",
                models.ForeignKey(
                    db_constraint=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="client_runs",
                    to="records.stream",
                ),
            ),
        ],
    ),
]
