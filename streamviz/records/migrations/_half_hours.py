"""Streams added up by the half hour, so that figures of long times need not be counted."""

from django.db import migrations, models

TABLES = [
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
            ("cached_tokens", models.BigIntegerField(default=0)),
            ("estimated", models.BigIntegerField(default=0)),
        ],
        options={"indexes": [models.Index(fields=["requested_at"], name="half_hour_time")]},
    ),
]

HALF_HOUR = """
CREATE FUNCTION streamviz_half_hour(at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT date_bin('30 minutes', at, '2024-01-01 00:00:00+00')
$$;
"""
# One row for each change and none changed in place: whoever stores, imports or deletes streams waits for nobody.
ADD_UP = """
CREATE OR REPLACE FUNCTION streamviz_add_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.outcome <> '' THEN
        INSERT INTO records_halfhour (
            requested_at, requested_model, provider, key_id, outcome,
            streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens, estimated
        ) VALUES (
            streamviz_half_hour(OLD.requested_at), OLD.requested_model, OLD.provider, OLD.key_id, OLD.outcome,
            -1, -coalesce(OLD.input_tokens, 0), -coalesce(OLD.output_tokens, 0), -coalesce(OLD.cost, 0),
            -num_nonnulls(OLD.input_tokens), -num_nonnulls(OLD.output_tokens), -num_nonnulls(OLD.cost),
            -coalesce(OLD.cache_read_tokens, 0), -OLD.is_estimated::int
        );
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.outcome <> '' THEN
        INSERT INTO records_halfhour (
            requested_at, requested_model, provider, key_id, outcome,
            streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens, estimated
        ) VALUES (
            streamviz_half_hour(NEW.requested_at), NEW.requested_model, NEW.provider, NEW.key_id, NEW.outcome,
            1, coalesce(NEW.input_tokens, 0), coalesce(NEW.output_tokens, 0), coalesce(NEW.cost, 0),
            num_nonnulls(NEW.input_tokens), num_nonnulls(NEW.output_tokens), num_nonnulls(NEW.cost),
            coalesce(NEW.cache_read_tokens, 0), NEW.is_estimated::int
        );
    END IF;
    RETURN NULL;
END
$$;
"""
STORED_OR_DELETED = """
CREATE TRIGGER streamviz_stored AFTER INSERT ON records_stream
    FOR EACH ROW WHEN (NEW.outcome <> '') EXECUTE FUNCTION streamviz_add_up();
CREATE TRIGGER streamviz_deleted AFTER DELETE ON records_stream
    FOR EACH ROW WHEN (OLD.outcome <> '') EXECUTE FUNCTION streamviz_add_up();
"""
ENDED = """
CREATE TRIGGER streamviz_ended AFTER UPDATE ON records_stream
    FOR EACH ROW WHEN (
        (OLD.requested_at, OLD.requested_model, OLD.provider, OLD.key_id, OLD.outcome, OLD.input_tokens,
            OLD.output_tokens, OLD.cost, OLD.cache_read_tokens, OLD.is_estimated)
        IS DISTINCT FROM
        (NEW.requested_at, NEW.requested_model, NEW.provider, NEW.key_id, NEW.outcome, NEW.input_tokens,
            NEW.output_tokens, NEW.cost, NEW.cache_read_tokens, NEW.is_estimated)
    ) EXECUTE FUNCTION streamviz_add_up();
"""
