"""What a session has come to, and what its running streams have reserved of it; and that of a key in a period."""

from django.db import migrations, models

TABLES = [
    migrations.CreateModel(
        name="Reservation",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "stream_id", "period", blank=True, editable=False, primary_key=True, serialize=False
                ),
            ),
            ("stream_id", models.UUIDField()),
            ("session_id", models.UUIDField(db_index=True)),
            ("worker", models.UUIDField(db_index=True)),
            ("seen_at", models.DateTimeField()),
            ("output_tokens", models.BigIntegerField(null=True)),
            ("cost", models.FloatField(null=True)),
            ("period", models.CharField(blank=True, max_length=5)),
        ],
    ),
    migrations.CreateModel(
        name="SessionTally",
        fields=[
            ("session_id", models.UUIDField(primary_key=True, serialize=False)),
            ("began_at", models.DateTimeField()),
            ("touched_at", models.DateTimeField(db_index=True)),
            ("streams", models.BigIntegerField()),
            ("blocks", models.BigIntegerField()),
            ("tool_calls", models.BigIntegerField()),
            ("output_tokens", models.BigIntegerField()),
            ("cost", models.FloatField()),
            ("is_estimate", models.BooleanField()),
            ("unpriced", models.BigIntegerField()),
        ],
    ),
]

# One transaction each, also through a pooler: the session's row is locked from its first line to its end.
# Of a session that nothing is stored of, the first stream tells: its id begins with when its server made it.
# A halted stream without chunks and without a count of tokens never went upstream: it was denied, and does not count.
RESERVE = """
CREATE OR REPLACE FUNCTION streamviz_reserve(
    of_session uuid, of_stream uuid, of_worker uuid, most_tokens bigint, most_cost double precision, of_period text
) RETURNS TABLE (
    began_at bigint, streams bigint, blocks bigint, tool_calls bigint, output_tokens bigint, cost double precision,
    is_estimate boolean, unpriced bigint, running bigint, reserved_tokens bigint, reserved_cost double precision,
    unbounded bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    IF NOT FOUND THEN
        -- What the record has of the session from before it was counted.
        INSERT INTO records_sessiontally
        SELECT of_session, coalesce(min(stream.requested_at), to_timestamp(
            ('x' || left(replace(of_stream::text, '-', ''), 12))::bit(48)::bigint / 1000.0
        )), now(), count(*) FILTER (
            WHERE stream.outcome <> 'halted' OR stream.chunk_count > 0 OR stream.output_tokens IS NOT NULL
        ),
            coalesce(sum(stream.block_count), 0), coalesce(sum(told.calls), 0),
            coalesce(sum(coalesce(stream.output_tokens, told.length / 4)), 0), coalesce(sum(stream.cost), 0),
            coalesce(bool_or(stream.output_tokens IS NULL AND stream.block_count > 0), false), 0
        FROM records_stream AS stream CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE kind = 'tool_call') AS calls, coalesce(sum(length), 0) AS length
            FROM records_block WHERE stream_id = stream.id
        ) AS told
        WHERE stream.session_id = of_session AND stream.outcome <> ''
        ON CONFLICT DO NOTHING;
        PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    END IF;
    -- Streams of workers that are gone came to what the record says, or to what was reserved where it says nothing.
    WITH gone AS (
        DELETE FROM records_reservation
        WHERE session_id = of_session AND seen_at < now() - interval '2 minutes' RETURNING *
    ), told AS (
        SELECT count(*) AS reserved,
            count(*) FILTER (
                WHERE stream.outcome = 'halted' AND stream.chunk_count = 0 AND stream.output_tokens IS NULL
            ) AS denied,
            coalesce(sum(stream.block_count), 0) AS blocks,
            coalesce(sum((
                SELECT count(*) FROM records_block WHERE stream_id = gone.stream_id AND kind = 'tool_call'
            )), 0) AS calls,
            coalesce(sum(coalesce(stream.output_tokens, gone.output_tokens, 0)), 0) AS output_tokens,
            coalesce(sum(coalesce(stream.cost::double precision, gone.cost, 0)), 0) AS cost
        FROM gone LEFT JOIN records_stream AS stream ON stream.id = gone.stream_id
    )
    UPDATE records_sessiontally AS tally SET streams = tally.streams + told.reserved - told.denied,
        blocks = tally.blocks + told.blocks, tool_calls = tally.tool_calls + told.calls,
        output_tokens = tally.output_tokens + told.output_tokens, cost = tally.cost + told.cost,
        is_estimate = true, touched_at = now()
    FROM told WHERE tally.session_id = of_session AND told.reserved > told.denied;
    RETURN QUERY SELECT (extract(epoch FROM tally.began_at) * 1000000)::bigint, tally.streams, tally.blocks,
        tally.tool_calls, tally.output_tokens, tally.cost, tally.is_estimate, tally.unpriced, count(other.stream_id),
        coalesce(sum(other.output_tokens), 0)::bigint, coalesce(sum(other.cost), 0),
        count(other.stream_id) FILTER (WHERE other.output_tokens IS NULL)
    FROM records_sessiontally AS tally LEFT JOIN records_reservation AS other
        ON other.session_id = tally.session_id AND other.stream_id <> of_stream
    WHERE tally.session_id = of_session GROUP BY tally.session_id;
    INSERT INTO records_reservation (stream_id, period, session_id, worker, seen_at, output_tokens, cost)
    VALUES (of_stream, of_period, of_session, of_worker, now(), most_tokens, most_cost)
    ON CONFLICT (stream_id, period) DO UPDATE SET output_tokens = most_tokens, cost = most_cost;
END $$
"""
SETTLE = """
CREATE FUNCTION streamviz_settle(
    of_session uuid, of_stream uuid, more_streams bigint, more_blocks bigint, more_calls bigint, more_tokens bigint,
    more_cost double precision, was_estimate boolean, more_unpriced bigint, of_period text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The writer may have moved it to another session since it began.
    of_session := coalesce(
        (SELECT session_id FROM records_reservation WHERE stream_id = of_stream AND period = of_period), of_session
    );
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    DELETE FROM records_reservation WHERE stream_id = of_stream AND period = of_period;
    IF FOUND THEN
        UPDATE records_sessiontally SET streams = streams + more_streams, blocks = blocks + more_blocks,
            tool_calls = tool_calls + more_calls, output_tokens = output_tokens + more_tokens,
            cost = cost + more_cost, is_estimate = is_estimate OR was_estimate, unpriced = unpriced + more_unpriced,
            touched_at = now()
        WHERE session_id = of_session;
    END IF;
END $$
"""
