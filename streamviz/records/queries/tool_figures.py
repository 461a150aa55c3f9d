"""What the streams that called each tool came to."""

from typing import NamedTuple

from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import planned, rows
from streamviz.records.queries.samples import sampled


class ToolFigures(NamedTuple):
    """A tool's calls, and the totals of the streams that called it; None is unknown."""

    name: str
    calls: int
    streams: int
    output_tokens: int | None
    cost: float | None


# Over a long time a sample stands for all streams: indexes stream_sampled and stream_sampled_less. Blocks are looked up
# stream by stream, which OFFSET 0 makes Postgres do: index block_ordinal.
_TOOLS = """
SELECT name, sum(calls)::bigint, count(*), sum(output_tokens)::bigint, sum(cost)::float FROM (
    SELECT block.name, s.id, count(*) AS calls, max(s.output_tokens) AS output_tokens, max(s.cost) AS cost
    FROM records_stream AS s CROSS JOIN LATERAL (
        SELECT name FROM records_block WHERE stream_id = s.id AND kind = 'tool_call' OFFSET 0
    ) AS block
    WHERE {conditions}
    GROUP BY 1, 2
) AS called
GROUP BY 1 ORDER BY 5 DESC NULLS LAST, 2 DESC, 1 LIMIT %(most)s
"""


def tools(filters: Filters, most: int, few: int = 1) -> list[ToolFigures]:
    """The tools whose streams cost most, from one in `few` of the streams that match. A stream that called several
    tools counts for each of them."""
    wanted = wanted_streams(filters)
    sql = _TOOLS.format(conditions=f"{wanted.of('s')} AND {sampled(few)}")
    with planned():
        found = rows(sql, {**wanted.values, "most": most})
    return [ToolFigures(name, *(each and each * few for each in figures)) for name, *figures in found]
