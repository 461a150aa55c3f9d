"""What streams are grouped by, and where their totals come from."""

from datetime import datetime
from enum import StrEnum

from streamviz.records.queries.filters import Filters, conditions
from streamviz.records.queries.rows import rows
from streamviz.records.queries.sources import HALF_HOUR, HALF_HOURS, ORIGIN, STREAMS, has_half_hours


class Grouping(StrEnum):
    """What streams are grouped by; the value is SQL."""

    NOTHING = "''"
    MODEL = "s.requested_model"
    PROVIDER = "s.provider"
    KEY = "coalesce((SELECT name FROM records_apikey WHERE id = s.key_id), '')"
    SESSION = "s.session_id"


# What rows are grouped by before the group's name is looked up; the column has the name that the lookup uses.
COLUMNS = {
    Grouping.NOTHING: "'' AS nothing",
    Grouping.MODEL: "s.requested_model",
    Grouping.PROVIDER: "s.provider",
    Grouping.KEY: "s.key_id",
    Grouping.SESSION: "s.session_id",
}
# Postgres expects each time to be a group of its own, and would sort all streams rather than aggregate them in memory.
PLANNED = ("enable_seqscan = off", "work_mem = '64MB'")
_STREAMS = "SELECT coalesce(sum(streams), 0) FROM {source} AS s WHERE {conditions}"


def source_of(filters: Filters, grouping: Grouping, *moments: datetime) -> str:
    """The SQL source of the totals: half hours, if buckets that begin at these moments can be answered from them."""
    is_added_up = grouping is not Grouping.SESSION and has_half_hours(filters, *moments)
    return HALF_HOURS if is_added_up else STREAMS


def streams_in(filters: Filters) -> int:
    """Roughly how many streams there are in the time of the filters, whatever the other filters are."""
    since = filters.since and filters.since - (filters.since - ORIGIN) % HALF_HOUR
    wanted = conditions(Filters(since=since, until=filters.until))
    [(number,)] = rows(_STREAMS.format(source=HALF_HOURS, conditions=wanted.of("s")), wanted.values)
    return int(number)
