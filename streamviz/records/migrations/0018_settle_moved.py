"""What a stream reserved is settled for the session that it belongs to by then."""

from django.db import migrations

SETTLE = """
CREATE OR REPLACE FUNCTION streamviz_settle(
    of_session uuid, of_stream uuid, more_streams bigint, more_blocks bigint, more_calls bigint, more_tokens bigint,
    more_cost double precision, was_estimate boolean, more_unpriced bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The writer may have moved it since it began.
    of_session := coalesce((SELECT session_id FROM records_reservation WHERE stream_id = of_stream), of_session);
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    DELETE FROM records_reservation WHERE stream_id = of_stream;
    IF FOUND THEN
        UPDATE records_sessiontally SET streams = streams + more_streams, blocks = blocks + more_blocks,
            tool_calls = tool_calls + more_calls, output_tokens = output_tokens + more_tokens,
            cost = cost + more_cost, is_estimate = is_estimate OR was_estimate, unpriced = unpriced + more_unpriced,
            touched_at = now()
        WHERE session_id = of_session;
    END IF;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0017_conversations")]

    operations = [migrations.RunSQL(SETTLE, migrations.RunSQL.noop)]
