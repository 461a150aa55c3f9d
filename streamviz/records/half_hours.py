"""Merge the rows of half-hour totals, which triggers add one by one."""

import psycopg

# Readers see either the rows from before or those from after. Another writer that does the same merges other rows.
_PUT_TOGETHER = """
WITH piece AS (
    DELETE FROM records_halfhour WHERE requested_at IN (
        SELECT requested_at FROM records_halfhour
        GROUP BY requested_at, requested_model, provider, key_id, outcome HAVING count(*) > 1
    ) RETURNING *
)
INSERT INTO records_halfhour (
    requested_at, requested_model, provider, key_id, outcome,
    streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens,
    estimated
)
SELECT requested_at, requested_model, provider, key_id, outcome,
    sum(streams), sum(input_tokens), sum(output_tokens), sum(cost), sum(reported_input), sum(reported), sum(priced),
    sum(cached_tokens), sum(estimated)
FROM piece
GROUP BY requested_at, requested_model, provider, key_id, outcome
HAVING (sum(streams), sum(input_tokens), sum(output_tokens), sum(cost), sum(reported_input), sum(reported), sum(priced),
    sum(cached_tokens), sum(estimated)) <> (0, 0, 0, 0, 0, 0, 0, 0, 0)
"""


def put_together(connection: psycopg.Connection) -> None:
    """Leave one row for all streams that agree in everything. Raises psycopg.Error."""
    connection.execute(_PUT_TOGETHER)
