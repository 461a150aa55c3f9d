"""How often streams stalled, by time and cause."""

from datetime import datetime, timedelta
from typing import NamedTuple

from streamviz.records.queries.filters import Filters, conditions
from streamviz.records.queries.rows import planned, rows
from streamviz.records.queries.sources import ORIGIN

# Index stall_at, and the primary key of streams.
_STALLS = """
SELECT date_bin(%(step)s, stall.at, %(origin)s),
    coalesce(sum(times) FILTER (WHERE cause = 'upstream'), 0)::bigint,
    coalesce(sum(times) FILTER (WHERE cause = 'held'), 0)::bigint,
    coalesce(sum(times) FILTER (WHERE cause = 'client'), 0)::bigint
FROM records_stall AS stall {join}
WHERE stall.at >= %(since)s AND stall.at < %(until)s AND {conditions}
GROUP BY 1 ORDER BY 1
"""
_JOIN = "JOIN records_stream AS s ON s.id = stall.stream_id"


class Stalls(NamedTuple):
    """How often nothing moved for a second or longer in the streams of a time step, by who kept them waiting."""

    at: datetime
    upstream: int
    held: int
    client: int

    @property
    def times(self) -> int:
        return self.upstream + self.held + self.client


def stalls_by_time(since: datetime, until: datetime, step: timedelta, models: tuple[str, ...] = ()) -> list[Stalls]:
    """Stalls of the streams requested between two moments, of all models or only these."""
    wanted = conditions(Filters(models=models))
    sql = _STALLS.format(join=_JOIN if models else "", conditions=wanted.of("s"))
    values = {**wanted.values, "since": since, "until": until, "step": step, "origin": ORIGIN}
    with planned():
        return [Stalls(*row) for row in rows(sql, values)]
