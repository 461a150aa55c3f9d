"""What limits count: totals of finished streams, and what other streams may use or have used."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

_STATE_OF_BEFORE = [migrations.DeleteModel("Reservation"), migrations.DeleteModel("SessionTally")]
# Servers of before this migration go on with their tables while they run, so these stay.
WITHOUT_FORMER = migrations.SeparateDatabaseAndState([], _STATE_OF_BEFORE)
TABLES = [
    migrations.CreateModel(
        name="Tally",
        fields=[
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("session_id", models.UUIDField(null=True)),
            ("key_id", models.BigIntegerField(null=True)),
            ("began_at", models.DateTimeField()),
            ("requested_model", models.TextField()),
            ("provider", models.TextField()),
            ("upstream_model", models.TextField()),
            ("other_names", ArrayField(models.TextField())),
            ("is_unread", models.BooleanField()),
            ("streams", models.BigIntegerField()),
            ("blocks", models.BigIntegerField()),
            ("tool_calls", models.BigIntegerField()),
            ("output_tokens", models.BigIntegerField()),
            ("cost", models.FloatField()),
            ("estimated", models.BigIntegerField()),
            ("unpriced", models.BigIntegerField()),
        ],
        options={
            "indexes": [
                models.Index(
                    condition=models.Q(session_id__isnull=False), fields=["session_id"], name="tally_of_session"
                ),
                models.Index(
                    condition=models.Q(session_id__isnull=True), fields=["key_id", "began_at"], name="tally_of_key"
                ),
                models.Index(fields=["began_at"], name="tally_time"),
            ],
        },
    ),
    migrations.CreateModel(
        name="Use",
        fields=[
            ("stream_id", models.UUIDField(primary_key=True, serialize=False)),
            ("session_id", models.UUIDField(db_index=True)),
            ("key_id", models.BigIntegerField(null=True)),
            ("began_at", models.DateTimeField()),
            ("requested_model", models.TextField()),
            ("provider", models.TextField()),
            ("upstream_model", models.TextField()),
            ("other_names", ArrayField(models.TextField())),
            ("is_unread", models.BooleanField()),
            ("worker", models.UUIDField(db_index=True)),
            ("seen_at", models.DateTimeField()),
            ("is_over", models.BooleanField(default=False)),
            ("blocks", models.BigIntegerField(default=0)),
            ("tool_calls", models.BigIntegerField(default=0)),
            ("output_tokens", models.BigIntegerField(null=True)),
            ("cost", models.FloatField(null=True)),
            ("is_estimate", models.BooleanField(default=False)),
            ("unpriced", models.BigIntegerField(default=0)),
        ],
        options={"indexes": [models.Index(fields=["key_id", "began_at"], name="use_of_key")]},
    ),
]

# Adds rows for those of these streams that are over, or takes them off again (`times` is -1): for their sessions and
# their keys, or only for one session, to or from which they are moved. A request that was denied, or that somebody
# stopped before it went upstream, does not count. Such a call has no count of tokens; nothing that passes unread has
# one, so there the verdict tells. Each plan looks only into the partitions of these streams.
COUNT = """
CREATE FUNCTION streamviz_count(ids uuid[], of_session uuid, times integer) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    INSERT INTO records_tally (
        session_id, key_id, began_at, requested_model, provider, upstream_model, other_names, is_unread,
        streams, blocks, tool_calls, output_tokens, cost, estimated, unpriced
    )
    SELECT CASE WHEN is_of_session THEN coalesce(of_session, session_id) END, key_id, min(requested_at),
        told.requested_model, told.provider, told.upstream_model, told.other_names, is_unread,
        times * count(*), times * sum(block_count), times * sum(calls), times * sum(tokens),
        times * coalesce(sum(cost), 0),
        times * count(*) FILTER (WHERE is_estimated OR (output_tokens IS NULL AND tokens > 0)),
        times * count(*) FILTER (WHERE cost IS NULL AND coalesce(input_tokens, 1) + output_tokens > 0)
    FROM (
        SELECT stream.session_id, key_id, requested_at, block_count, coalesce(calls, 0) AS calls, is_unread,
            CASE WHEN is_unread THEN '' ELSE requested_model END AS requested_model,
            CASE WHEN is_unread THEN '' ELSE provider END AS provider,
            CASE WHEN is_unread THEN '' ELSE upstream_model END AS upstream_model, other_names,
            CASE WHEN is_replay THEN 0 ELSE coalesce(output_tokens, length / 4, 0) END AS tokens,
            CASE WHEN is_replay THEN 0 ELSE cost END AS cost,
            is_estimated AND NOT is_replay AS is_estimated, input_tokens, output_tokens
        FROM records_stream AS stream LEFT JOIN (
            SELECT stream_id, count(*) FILTER (WHERE kind = 'tool_call') AS calls, sum(length) AS length
            FROM records_block WHERE stream_id = ANY(ids) GROUP BY stream_id
        ) AS said ON stream_id = id
        CROSS JOIN LATERAL (
            SELECT wire_format = 'passed_through' AS is_unread, provider = 'replay' AS is_replay
        ) AS kind
        WHERE id = ANY(ids) AND outcome <> '' AND NOT (
            outcome = 'halted' AND chunk_count = 0 AND output_tokens IS NULL AND (NOT is_unread OR id IN (
                SELECT stream_id FROM records_verdict
                WHERE stream_id = ANY(ids) AND subject = 'request' AND decision = 'deny' AND mode = 'enforce'
            ))
        )
    ) AS told CROSS JOIN (VALUES (true), (false)) AS whose (is_of_session)
    WHERE is_of_session OR (of_session IS NULL AND key_id IS NOT NULL)
    GROUP BY 1, 2, date_trunc('hour', requested_at, 'UTC'), 4, 5, 6, 7, 8;
END $$
"""

# One transaction each, also through a pooler. Whoever counts the same session, or the same key, waits for the lock
# until it ends, and so sees what was entered here. `periods` has '' for the session, and else the key's periods with
# their beginnings and ends. A stream that is entered again, because its request has changed, keeps its session.
ENTER = """
CREATE FUNCTION streamviz_enter(
    of_stream uuid, of_session uuid, of_key bigint, began timestamptz, asked_model text, at_provider text,
    called_model text, more_names text[], passes_unread boolean, of_worker uuid, most_tokens bigint,
    most_cost double precision, periods text[], sinces timestamptz[], untils timestamptz[]
) RETURNS TABLE (
    period text, key_name text, requested_model text, provider text, upstream_model text, other_names text[],
    is_unread boolean, began_at bigint, streams bigint, blocks bigint, tool_calls bigint, output_tokens bigint,
    cost double precision, is_estimate boolean, unpriced bigint, running bigint, reserved_tokens bigint,
    reserved_cost double precision, unbounded bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF '' = ANY(periods) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('session ' || of_session, 0));
    END IF;
    IF '' <> ANY(periods) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('key ' || of_key, 0));
    END IF;
    RETURN QUERY
    WITH asked AS (
        SELECT * FROM unnest(periods, sinces, untils) AS one (period, since, until)
    ), used AS (
        SELECT period, tally.* FROM asked JOIN records_tally AS tally ON session_id = of_session WHERE period = ''
        UNION ALL
        SELECT period, tally.* FROM asked JOIN records_tally AS tally ON began_at >= since AND began_at < until
        -- The longest period has the others in it: these bounds are for the index.
        WHERE session_id IS NULL AND key_id = of_key AND began_at >= (SELECT min(since) FROM unnest(sinces) AS since)
            AND began_at < (SELECT max(until) FROM unnest(untils) AS until)
    ), entered AS (
        SELECT period, entry.* FROM asked JOIN records_use AS entry ON session_id = of_session WHERE period = ''
        UNION ALL
        SELECT period, entry.* FROM asked JOIN records_use AS entry
            ON key_id = of_key AND began_at >= since AND began_at < until WHERE period <> ''
    ), told AS (
        SELECT period, key_id, requested_model, provider, upstream_model, other_names, is_unread, began_at, streams,
            blocks, tool_calls, output_tokens, cost, estimated > 0 AS is_estimate, unpriced,
            0 AS running, 0 AS reserved_tokens, 0.0::double precision AS reserved_cost, 0 AS unbounded
        FROM used
        UNION ALL
        SELECT period, key_id, requested_model, provider, upstream_model, other_names, is_unread, began_at,
            is_over::int, blocks, tool_calls, CASE WHEN is_over THEN output_tokens END, CASE WHEN is_over THEN cost END,
            is_estimate, unpriced, (NOT is_over)::int,
            CASE WHEN NOT is_over THEN output_tokens END, CASE WHEN NOT is_over THEN cost END,
            -- A worker that is gone has nothing running, but what it entered holds until the record has it.
            (NOT is_over AND output_tokens IS NULL AND seen_at > now() - interval '2 minutes')::int
        FROM entered WHERE stream_id <> of_stream
    )
    SELECT period, coalesce(max(key.name), ''), requested_model, provider, upstream_model, other_names, is_unread,
        (extract(epoch FROM min(told.began_at)) * 1000000)::bigint, sum(streams)::bigint, sum(blocks)::bigint,
        sum(tool_calls)::bigint, coalesce(sum(output_tokens), 0)::bigint, coalesce(sum(cost), 0), bool_or(is_estimate),
        sum(unpriced)::bigint, sum(running)::bigint, coalesce(sum(reserved_tokens), 0)::bigint,
        coalesce(sum(reserved_cost), 0), sum(unbounded)::bigint
    FROM told LEFT JOIN records_apikey AS key ON key.id = key_id
    GROUP BY period, key_id, requested_model, provider, upstream_model, other_names, is_unread;
    INSERT INTO records_use (
        stream_id, session_id, key_id, began_at, requested_model, provider, upstream_model, other_names, is_unread,
        worker, seen_at, is_over, blocks, tool_calls, output_tokens, cost, is_estimate, unpriced
    ) VALUES (
        of_stream, of_session, of_key, began, asked_model, at_provider, called_model, more_names, passes_unread,
        of_worker, now(), false, 0, 0, most_tokens, most_cost, false, 0
    ) ON CONFLICT (stream_id) DO UPDATE SET requested_model = asked_model, provider = at_provider,
        upstream_model = called_model, other_names = more_names, output_tokens = most_tokens, cost = most_cost;
END $$
"""
# What the record has already. Older sessions, and older servers' streams from now on, count from later on.
FILL = """
SELECT streamviz_count(array_agg(id), NULL, 1) FROM records_stream
WHERE id >= streamviz_first_id(now() - interval '32 days') AND outcome <> ''
GROUP BY date_trunc('hour', requested_at, 'UTC')
"""
