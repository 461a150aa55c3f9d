"""Full-text search, the indexes of the pages' queries, and a note of each run of retention."""

import django.db.models.deletion
from django.db import migrations, models

# Words are letters and digits alone, so that the parts of a path or of a name with underscores are found, and all of it
# as a phrase; the last word of what is asked for may be the beginning of one.
SEARCH = r"""
CREATE FUNCTION streamviz_words(input text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(input, '[^[:alnum:]]+', ' ', 'g')
$$;

CREATE FUNCTION streamviz_query(input text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(to_tsquery('simple', string_agg('(' || replace(words, ' ', ' <-> ') || ':*)', ' & ')), ''::tsquery)
    FROM regexp_split_to_table(input, '\s+') AS term, LATERAL btrim(streamviz_words(term)) AS words
    WHERE words <> ''
$$;

-- A tsvector holds no more than a megabyte: of a longer block the beginning is found.
ALTER TABLE records_block ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (
    to_tsvector(
        'simple'::regconfig,
        streamviz_words(name || ' ' || label || ' ' || upstream_id || ' ' || left(text, 100000))
    )
) STORED;
CREATE INDEX block_search ON records_block USING gin (search);
CREATE INDEX session_search ON records_session USING gin (to_tsvector('simple'::regconfig, streamviz_words(label)));
"""

DROP_SEARCH = """
DROP INDEX session_search;
ALTER TABLE records_block DROP COLUMN search;
DROP FUNCTION streamviz_query(text);
DROP FUNCTION streamviz_words(text);
"""

# Statistics read these indexes alone: the first for what is counted and added up, the second, which has one stream in
# 16, for times. Requests lie beside the rows, which are read far more often than those.
STATISTICS = """
CREATE INDEX stream_statistics ON records_stream (requested_at) INCLUDE (
    outcome, requested_model, provider, key_id, session_id, input_tokens, output_tokens, cost
);
CREATE INDEX stream_sample ON records_stream (requested_at) INCLUDE (
    requested_model, provider, key_id, session_id, output_tokens, upstream_first_at, client_first_at, ended_at,
    itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16;
ALTER TABLE records_stream SET (toast_tuple_target = 512, fillfactor = 90);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("records", "0008_starter_set"),
    ]

    operations = [
        migrations.CreateModel(
            name="RetentionRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("freed", models.JSONField(default=list)),
            ],
            options={
                "ordering": ["-started_at"],
            },
        ),
        migrations.AlterField(
            model_name="block",
            name="stream",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="blocks", to="records.stream"
            ),
        ),
        migrations.AlterField(
            model_name="stream",
            name="key",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="streams",
                to="records.apikey",
            ),
        ),
        migrations.AlterField(
            model_name="verdict",
            name="stream",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="verdicts",
                to="records.stream",
            ),
        ),
        migrations.AddIndex(
            model_name="block",
            index=models.Index(
                condition=models.Q(("kind", "tool_call")), fields=["name", "stream"], name="block_of_tool"
            ),
        ),
        migrations.AddIndex(
            model_name="stream",
            index=models.Index(fields=["requested_model", "-requested_at", "-id"], name="stream_of_model"),
        ),
        migrations.AddIndex(
            model_name="stream",
            index=models.Index(fields=["key", "-requested_at", "-id"], name="stream_of_key"),
        ),
        migrations.AddIndex(
            model_name="stream",
            index=models.Index(
                condition=models.Q(("outcome", "completed"), _negated=True),
                fields=["outcome", "-requested_at", "-id"],
                name="stream_that_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="verdict",
            index=models.Index(
                condition=models.Q(("mode", "enforce"), models.Q(("decision", "allow"), _negated=True)),
                fields=["stream"],
                name="verdict_that_intervened",
            ),
        ),
        migrations.AddIndex(
            model_name="verdict",
            index=models.Index(fields=["at"], name="verdict_at"),
        ),
        migrations.RunSQL(SEARCH, DROP_SEARCH),
        migrations.RunSQL(STATISTICS, "DROP INDEX stream_sample; DROP INDEX stream_statistics"),
    ]
