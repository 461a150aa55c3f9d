"""Streams added up by the half hour, so that figures of long times need not be counted; sessions found by their label
and by their star."""

from django.contrib.postgres.indexes import HashIndex
from django.db import migrations, models

# One row for each change and none changed in place: whoever stores, imports or deletes streams waits for nobody.
ADD_UP = """
CREATE FUNCTION streamviz_half_hour(at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT date_bin('30 minutes', at, '2024-01-01 00:00:00+00')
$$;

CREATE FUNCTION streamviz_add_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.outcome <> '' THEN
        INSERT INTO records_halfhour (
            requested_at, requested_model, provider, key_id, outcome,
            streams, input_tokens, output_tokens, cost, reported_input, reported, priced
        ) VALUES (
            streamviz_half_hour(OLD.requested_at), OLD.requested_model, OLD.provider, OLD.key_id, OLD.outcome,
            -1, -coalesce(OLD.input_tokens, 0), -coalesce(OLD.output_tokens, 0), -coalesce(OLD.cost, 0),
            -num_nonnulls(OLD.input_tokens), -num_nonnulls(OLD.output_tokens), -num_nonnulls(OLD.cost)
        );
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.outcome <> '' THEN
        INSERT INTO records_halfhour (
            requested_at, requested_model, provider, key_id, outcome,
            streams, input_tokens, output_tokens, cost, reported_input, reported, priced
        ) VALUES (
            streamviz_half_hour(NEW.requested_at), NEW.requested_model, NEW.provider, NEW.key_id, NEW.outcome,
            1, coalesce(NEW.input_tokens, 0), coalesce(NEW.output_tokens, 0), coalesce(NEW.cost, 0),
            num_nonnulls(NEW.input_tokens), num_nonnulls(NEW.output_tokens), num_nonnulls(NEW.cost)
        );
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER streamviz_stored AFTER INSERT ON records_stream
    FOR EACH ROW WHEN (NEW.outcome <> '') EXECUTE FUNCTION streamviz_add_up();
CREATE TRIGGER streamviz_deleted AFTER DELETE ON records_stream
    FOR EACH ROW WHEN (OLD.outcome <> '') EXECUTE FUNCTION streamviz_add_up();
CREATE TRIGGER streamviz_ended AFTER UPDATE ON records_stream
    FOR EACH ROW WHEN (
        (OLD.requested_at, OLD.requested_model, OLD.provider, OLD.key_id, OLD.outcome, OLD.input_tokens,
            OLD.output_tokens, OLD.cost)
        IS DISTINCT FROM
        (NEW.requested_at, NEW.requested_model, NEW.provider, NEW.key_id, NEW.outcome, NEW.input_tokens,
            NEW.output_tokens, NEW.cost)
    ) EXECUTE FUNCTION streamviz_add_up();

-- The triggers' lock on the table lasts until this is committed: no stream is counted twice or not at all.
INSERT INTO records_halfhour (
    requested_at, requested_model, provider, key_id, outcome,
    streams, input_tokens, output_tokens, cost, reported_input, reported, priced
)
SELECT streamviz_half_hour(requested_at), requested_model, provider, key_id, outcome,
    count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(cost), 0),
    count(input_tokens), count(output_tokens), count(cost)
FROM records_stream WHERE outcome <> '' GROUP BY 1, 2, 3, 4, 5;
"""

DROP_ADD_UP = """
DROP TRIGGER streamviz_ended ON records_stream;
DROP TRIGGER streamviz_deleted ON records_stream;
DROP TRIGGER streamviz_stored ON records_stream;
DROP FUNCTION streamviz_add_up();
DROP FUNCTION streamviz_half_hour(timestamptz);
"""

# One index that has what is counted, filtered by and listed does for two. What figures of many streams are estimated
# from is one in 16, or fewer of those, which their ids say.
SAMPLE = """
DROP INDEX stream_statistics;
DROP INDEX stream_sample;
CREATE INDEX stream_sample ON records_stream (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, output_tokens, upstream_first_at, client_first_at,
    ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16;
"""
FORMER_SAMPLE = """
CREATE INDEX stream_statistics ON records_stream (requested_at) INCLUDE (
    outcome, requested_model, provider, key_id, session_id, input_tokens, output_tokens, cost
);
DROP INDEX stream_sample;
CREATE INDEX stream_sample ON records_stream (requested_at) INCLUDE (
    requested_model, provider, key_id, session_id, output_tokens, upstream_first_at, client_first_at, ended_at,
    itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16;
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0010_client_waits")]

    operations = [
        migrations.CreateModel(
            name="HalfHour",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("requested_at", models.DateTimeField()),
                ("requested_model", models.TextField()),
                ("provider", models.TextField()),
                ("key_id", models.BigIntegerField(null=True)),
                ("outcome", models.TextField()),
                ("streams", models.BigIntegerField()),
                ("input_tokens", models.BigIntegerField()),
                ("output_tokens", models.BigIntegerField()),
                ("cost", models.DecimalField(decimal_places=8, max_digits=20)),
                ("reported_input", models.BigIntegerField()),
                ("reported", models.BigIntegerField()),
                ("priced", models.BigIntegerField()),
            ],
            options={"indexes": [models.Index(fields=["requested_at"], name="half_hour_time")]},
        ),
        migrations.RunSQL(ADD_UP, DROP_ADD_UP),
        migrations.RunSQL(SAMPLE, FORMER_SAMPLE),
        migrations.RemoveIndex(model_name="stream", name="stream_newest"),
        migrations.AddIndex(
            model_name="stream",
            index=models.Index(
                fields=["-requested_at", "-id"],
                include=[
                    *("outcome", "requested_model", "provider", "key", "session"),
                    *("input_tokens", "output_tokens", "cost", "ended_at"),
                ],
                name="stream_newest",
            ),
        ),
        migrations.AddIndex(model_name="session", index=HashIndex(fields=["label"], name="session_label")),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(condition=models.Q(("is_starred", True)), fields=["id"], name="session_starred"),
        ),
    ]
