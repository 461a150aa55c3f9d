"""The SQL of back-tests."""

# Examples have reasons, which may quote what a stream said: they go with it.
_FORGET = """
UPDATE records_backtest AS backtest SET examples = left_over.examples
FROM (
    SELECT id, coalesce(jsonb_agg(example ORDER BY place) FILTER (WHERE NOT is_gone), '[]') AS examples
    FROM (
        SELECT one.id, example, place, {} AS is_gone
        FROM records_backtest AS one, jsonb_array_elements(one.examples) WITH ORDINALITY AS of_one (example, place)
        WHERE one.examples <> '[]'
    ) AS told
    GROUP BY id HAVING bool_or(is_gone)
) AS left_over WHERE backtest.id = left_over.id
"""
_STREAM = "(example ->> 'stream')::uuid"
FORGET_EXAMPLES = _FORGET.format(f"{_STREAM} = ANY(%s)")
FORGET_EXAMPLES_IN = _FORGET.format(f"EXISTS (SELECT FROM {{child}} WHERE id = {_STREAM} AND id <> ALL(%(kept)s))")
