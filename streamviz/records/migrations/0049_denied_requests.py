"""A request that was denied is no stream of its session or key, however long ago that was and whoever denied it."""

from django.db import migrations

# Of a session that nothing is stored of, the first stream tells: its id begins with when its server made it.
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
        )), now(), count(*) FILTER (WHERE stream.outcome <> 'halted' OR stream.chunk_count > 0),
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
            count(*) FILTER (WHERE stream.outcome = 'halted' AND stream.chunk_count = 0) AS denied,
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


class Migration(migrations.Migration):
    dependencies = [("records", "0048_deciders")]

    operations = [migrations.RunSQL(RESERVE, migrations.RunSQL.noop)]
