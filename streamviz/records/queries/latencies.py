"""How long clients waited for the first token, by time and length of wait."""

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


_CELLS = """
SELECT
    date_bin(%(step)s, s.requested_at, %(origin)s),
    floor({bands} * log(greatest(0.1, extract(epoch FROM s.client_first_at - s.requested_at) * 1000)::float))::int,
    count(*)
FROM records_stream AS s
WHERE {conditions} AND s.client_first_at IS NOT NULL
GROUP BY 1, 2 ORDER BY 1, 2
"""


def latencies(filters: Filters, step: timedelta, few: int) -> list[Cell]:
    """TTFT as clients had it, of one in `few` of the streams that match."""
    wanted = wanted_streams(filters)
    sql = _CELLS.format(bands=BANDS, conditions=f"{wanted.of('s')} AND {sampled(few)}")
    with planned():
        return [Cell(*row) for row in rows(sql, {**wanted.values, "step": step, "origin": ORIGIN})]
