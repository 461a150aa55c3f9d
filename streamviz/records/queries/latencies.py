"""How long clients waited for the first token, by time and length of wait; and totals of the streams that called each
tool."""

from datetime import datetime, timedelta
from typing import NamedTuple

from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import planned, rows
from streamviz.records.queries.samples import sampled
from streamviz.records.queries.sources import ORIGIN

# Latency bands per power of ten.
BANDS = 3


class Cell(NamedTuple):
    """How many streams of a time step had a latency in this band: from 10 ** (band / BANDS) ms up to the next band."""

    at: datetime
    band: int
    streams: int


class ToolFigures(NamedTuple):
    """A tool's calls, and the totals of the streams that called it; None is unknown."""

    name: str
    calls: int
    streams: int
    output_tokens: int | None
    cost: float | None


_CELLS = """
SELECT
    date_bin(%(step)s, s.requested_at, %(origin)s),
    floor({bands} * log(greatest(0.1, extract(epoch FROM s.client_first_at - s.requested_at) * 1000)::float))::int,
    count(*)
FROM records_stream AS s
WHERE {conditions} AND s.client_first_at IS NOT NULL
GROUP BY 1, 2 ORDER BY 1, 2
"""
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


def latencies(filters: Filters, step: timedelta, few: int) -> list[Cell]:
    """TTFT as clients had it, of one in `few` of the streams that match."""
    wanted = wanted_streams(filters)
    sql = _CELLS.format(bands=BANDS, conditions=f"{wanted.of('s')} AND {sampled(few)}")
    with planned():
        return [Cell(*row) for row in rows(sql, {**wanted.values, "step": step, "origin": ORIGIN})]


def tools(filters: Filters, most: int, few: int = 1) -> list[ToolFigures]:
    """The tools whose streams cost most, from one in `few` of the streams that match. A stream that called several
    tools counts for each of them."""
    wanted = wanted_streams(filters)
    sql = _TOOLS.format(conditions=f"{wanted.of('s')} AND {sampled(few)}")
    with planned():
        found = rows(sql, {**wanted.values, "most": most})
    return [ToolFigures(name, *(each and each * few for each in figures)) for name, *figures in found]
