"""Where totals come from: the streams one by one, a sample of them, or the totals of each half hour."""

from datetime import UTC, datetime, timedelta

from streamviz.records.queries.filters import Filters, conditions
from streamviz.records.queries.samples import sampled

# A time at which buckets of minutes, hours, days and weeks begin: a Monday.
ORIGIN = datetime(2024, 1, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
# All sources have the columns that are added up, and those of their filters. Index stream_newest.
_STREAMS = """(
    SELECT s.*, 1 AS streams, num_nonnulls(input_tokens) AS reported_input, num_nonnulls(output_tokens) AS reported,
        num_nonnulls(cost) AS priced, cache_read_tokens AS cached_tokens, is_estimated::int AS estimated
    FROM records_stream AS s {those}
)"""
STREAMS = _STREAMS.format(those="")
# Stream by stream, by the primary key.
_EACH_OF = """FROM (SELECT id FROM records_stream AS s WHERE {those}) AS chosen
    CROSS JOIN LATERAL (SELECT * FROM records_stream WHERE id = chosen.id OFFSET 0) AS s"""
# Indexes half_hour_time and stream_open: running streams are not in half hours.
HALF_HOURS = """(
    SELECT requested_at, requested_model, provider, key_id, outcome, streams, input_tokens, output_tokens, cost,
        reported_input, reported, priced, cached_tokens, estimated
    FROM records_halfhour
    UNION ALL
    SELECT requested_at, requested_model, provider, key_id, outcome, 1, input_tokens, output_tokens, cost,
        num_nonnulls(input_tokens), num_nonnulls(output_tokens), num_nonnulls(cost), cache_read_tokens,
        is_estimated::int
    FROM records_stream WHERE outcome = ''
)"""
_IN_HALF_HOURS = {"since", "until", "models", "providers", "keys", "outcomes"}


def has_half_hours(filters: Filters, *moments: datetime) -> bool:
    """Whether half hours can answer this, in buckets that begin at these moments."""
    asked = {name.removeprefix("not_") for name in conditions(filters).values}
    times = [at for at in (filters.since, filters.until, *moments) if at is not None]
    return (
        asked <= _IN_HALF_HOURS
        and not filters.text.strip()
        and all((at - ORIGIN) % HALF_HOUR == timedelta() for at in times)
    )


def sample_of(one_in: int, time: str, *, has_all: bool) -> str:
    """The source for one stream in `one_in` within `time`, a condition. The sample is read before anything else is
    checked: Postgres would expect another index to be quicker, and read hundreds of thousands of streams to find the
    few of the sample among them. OFFSET 0 prevents that. Unless the sample's index `has_all` the columns needed, it
    only gives the ids, and streams are read by those; otherwise everything in the index would be read."""
    those = f"{time} AND {sampled(one_in)} OFFSET 0"
    if has_all:
        return _STREAMS.format(those=f"WHERE {those}")
    return _STREAMS.replace("FROM records_stream AS s {those}", _EACH_OF.format(those=those))
