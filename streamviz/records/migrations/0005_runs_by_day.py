"""Runs in partitions of a day each, smaller and without a foreign key; which worker recorded a stream; stars and notes.

Streams have ids that begin with the time (UUIDv7), so that the id alone says in which day's partition a stream is.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

PARTITIONS = """
CREATE FUNCTION streamviz_first_id(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

CREATE FUNCTION streamviz_make_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    child text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['records_upstreamrun', 'records_clientrun'] LOOP
        child := parent || to_char(day, '_YYYYMMDD');
        IF to_regclass(child) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                child,
                parent,
                streamviz_first_id(day::timestamp AT TIME ZONE 'UTC'),
                streamviz_first_id((day + 1)::timestamp AT TIME ZONE 'UTC')
            );
        END IF;
    END LOOP;
END
$$;

DROP VIEW records_chunk;
DROP VIEW records_frame;
ALTER TABLE records_upstreamrun RENAME TO records_upstreamrun_before;
ALTER TABLE records_clientrun RENAME TO records_clientrun_before;
ALTER INDEX records_upstreamrun_pkey RENAME TO records_upstreamrun_before_pkey;
ALTER INDEX records_clientrun_pkey RENAME TO records_clientrun_before_pkey;

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
"""

CONVERT = """
SELECT streamviz_make_day(day)
FROM (SELECT DISTINCT (requested_at AT TIME ZONE 'UTC')::date FROM records_stream) AS each(day);

INSERT INTO records_upstreamrun
SELECT stream_id, first_seq, received_at[1],
    ARRAY(SELECT least(at - received_at[1], 2147483647) FROM unnest(received_at) AS at), lengths, payload
FROM records_upstreamrun_before;

INSERT INTO records_clientrun
WITH frame AS (
    SELECT run.stream_id, run.first_frame, item.n, item.sent_at, item.seq, item.seq - item.n AS ahead, item.length,
        CASE WHEN item.seq IS NULL THEN item.origin ELSE '' END AS origin,
        substring(run.payload FROM (item.ends - item.length + 1)::int FOR item.length) AS made
    FROM records_clientrun_before AS run
    CROSS JOIN LATERAL (
        SELECT n, sent_at, seq, origin, length, sum(length) OVER (ORDER BY n) AS ends
        FROM unnest(run.sent_at, run.seqs, run.origins, run.lengths)
            WITH ORDINALITY AS each(sent_at, seq, origin, length, n)
    ) AS item
), alike AS (
    SELECT *, n - row_number() OVER (PARTITION BY stream_id, first_frame, ahead, origin ORDER BY n) AS stretch
    FROM frame
)
SELECT stream_id, (first_frame + min(n) - 1)::int, min(sent_at),
    array_agg(least(sent_at - first_at, 2147483647)::int ORDER BY n), min(seq), origin,
    CASE WHEN ahead IS NULL THEN array_agg(length ORDER BY n) ELSE '{}' END,
    CASE WHEN ahead IS NULL THEN string_agg(made, ''::bytea ORDER BY n) ELSE '' END
FROM (
    SELECT *, min(sent_at) OVER (PARTITION BY stream_id, first_frame, ahead, origin, stretch) AS first_at FROM alike
) AS each
GROUP BY stream_id, first_frame, ahead, origin, stretch;

DROP TABLE records_upstreamrun_before;
DROP TABLE records_clientrun_before;
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

# No worker of this version knows them, so nobody would ever close them.
CLOSE_OPEN = """
UPDATE records_stream SET outcome = 'interrupted', ended_at = coalesce(ended_at, requested_at) WHERE outcome = ''
"""

LENGTHS = "UPDATE records_block SET length = length(text)"


class Migration(migrations.Migration):
    dependencies = [("records", "0004_policy_engine")]

    operations = [
        migrations.CreateModel(
            name="DeletedStream",
            fields=[
                ("stream_id", models.UUIDField(primary_key=True, serialize=False)),
                ("deleted_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddField("session", "is_starred", models.BooleanField(default=False)),
        migrations.AddField("session", "note", models.TextField(blank=True)),
        migrations.AddField(
            "stream", "worker", models.UUIDField(help_text="Whose journal it was recorded in.", null=True)
        ),
        migrations.AddField(
            "block",
            "length",
            models.PositiveIntegerField(default=0, help_text="In characters, whether the text is kept or not."),
        ),
        migrations.RunSQL(LENGTHS),
        migrations.RunSQL(CLOSE_OPEN),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(PARTITIONS),
                migrations.RunSQL(CONVERT),
                migrations.RunSQL(VIEWS),
            ],
            state_operations=[
                migrations.DeleteModel("UpstreamRun"),
                migrations.DeleteModel("ClientRun"),
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
                        ("offsets", django.contrib.postgres.fields.ArrayField(models.IntegerField())),
                        ("lengths", django.contrib.postgres.fields.ArrayField(models.IntegerField())),
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
                                "stream_id",
                                "first_frame",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("first_frame", models.IntegerField()),
                        ("first_at", models.BigIntegerField()),
                        ("offsets", django.contrib.postgres.fields.ArrayField(models.IntegerField())),
                        ("first_seq", models.IntegerField(null=True)),
                        ("origin", models.TextField(blank=True)),
                        ("lengths", django.contrib.postgres.fields.ArrayField(models.IntegerField())),
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
            ],
        ),
    ]
