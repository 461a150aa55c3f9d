"""What Django's models cannot say: plain SQL's view of chunks and frames, notifications of change, compression."""

from django.db import migrations

CHUNK_VIEW = """
CREATE VIEW records_chunk AS
SELECT
    run.stream_id,
    run.first_seq + item.n - 1 AS seq,
    timestamptz 'epoch' + item.received_at * interval '1 microsecond' AS received_at,
    substring(run.payload FROM (item.ends - item.length + 1)::int FOR item.length) AS raw
FROM records_upstreamrun AS run
CROSS JOIN LATERAL (
    SELECT n, received_at, length, sum(length) OVER (ORDER BY n) AS ends
    FROM unnest(run.received_at, run.lengths) WITH ORDINALITY AS each(received_at, length, n)
) AS item
"""

FRAME_VIEW = """
CREATE VIEW records_frame AS
SELECT
    run.stream_id,
    run.first_frame + item.n - 1 AS number,
    timestamptz 'epoch' + item.sent_at * interval '1 microsecond' AS sent_at,
    item.seq,
    item.origin,
    CASE WHEN item.seq IS NULL
        THEN substring(run.payload FROM (item.ends - item.length + 1)::int FOR item.length)
    END AS made
FROM records_clientrun AS run
CROSS JOIN LATERAL (
    SELECT n, sent_at, seq, origin, length, sum(length) OVER (ORDER BY n) AS ends
    FROM unnest(run.sent_at, run.seqs, run.origins, run.lengths)
        WITH ORDINALITY AS each(sent_at, seq, origin, length, n)
) AS item
"""

NOTIFY = """
CREATE FUNCTION streamviz_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('streamviz_changed', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_apikey
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_route
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_policy
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
"""

DROP_NOTIFY = """
DROP TRIGGER streamviz_changed ON records_apikey;
DROP TRIGGER streamviz_changed ON records_route;
DROP TRIGGER streamviz_changed ON records_policy;
DROP FUNCTION streamviz_notify();
"""

# A Postgres that was built without lz4 compresses with its own method instead.
COMPRESSION = """
DO $$
BEGIN
    ALTER TABLE records_upstreamrun ALTER COLUMN payload SET COMPRESSION lz4;
    ALTER TABLE records_clientrun ALTER COLUMN payload SET COMPRESSION lz4;
    ALTER TABLE records_stream ALTER COLUMN request SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0001_initial")]

    operations = [
        migrations.RunSQL(CHUNK_VIEW, "DROP VIEW records_chunk"),
        migrations.RunSQL(FRAME_VIEW, "DROP VIEW records_frame"),
        migrations.RunSQL(NOTIFY, DROP_NOTIFY),
        migrations.RunSQL(COMPRESSION, migrations.RunSQL.noop),
    ]
