"""What figures are added up from: the streams one by one, some of them, or what they come to in each half hour."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from streamviz.records.queries.filters import Filters, conditions

# A time that buckets of minutes, hours, days and weeks begin at: a Monday.
ORIGIN = datetime(2024, 1, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
# All of these have the columns that are added up, and those of their filters. Index stream_newest.
_STREAMS = """(
    SELECT s.*, 1 AS streams, num_nonnulls(input_tokens) AS reported_input, num_nonnulls(output_tokens) AS reported,
        num_nonnulls(cost) AS priced, cache_read_tokens AS cached_tokens, is_estimated::int AS estimated
    FROM records_stream AS s {those}
)"""
STREAMS = _STREAMS.format(those="")
# One after another, by the primary key.
_EACH_OF = """FROM (SELECT id FROM records_stream AS s WHERE {those}) AS chosen
    CROSS JOIN LATERAL (SELECT * FROM records_stream WHERE id = chosen.id OFFSET 0) AS s"""
# Indexes half_hour_time and stream_open: streams that run are not in half hours.
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

# What takes long to find out about a stream is estimated from about so many at most, where there are more.
SAMPLE = 8_000
_VALUES, _SAMPLED = 256, 16
# Looking at what a stream is made of takes as long as so many others do.
COSTLY = 4
# One in so many is all that the smaller index of samples has.
WHOLE_INDEX = _VALUES
_BESIDE_INDEX = {"finish_reasons", "errors"}
# The larger index of samples is read in a tenth of a second where there are so many.
_SOON_READ = 2_000_000


def has_half_hours(filters: Filters, *moments: datetime) -> bool:
    """Whether half hours can answer this, in buckets that begin at these moments."""
    asked = {name.removeprefix("not_") for name in conditions(filters).values}
    times = [at for at in (filters.since, filters.until, *moments) if at is not None]
    return (
        asked <= _IN_HALF_HOURS
        and not filters.text.strip()
        and all((at - ORIGIN) % HALF_HOUR == timedelta() for at in times)
    )


def one_in(streams: int) -> int:
    """One stream in how many is looked at, of so many."""
    if streams <= SAMPLE:
        return 1
    found = _VALUES // _SAMPLED
    while found < _VALUES**2 and streams > SAMPLE * found:
        found *= 2
    return found


def one_in_costly(streams: int) -> int:
    """The same where what each is made of is looked at: of not very many that can still be done of all."""
    return one_in(COSTLY * streams) if streams > SAMPLE else 1


def one_in_index(streams: int) -> int:
    """The same where more help: as many as an index of samples has, and that is read soon."""
    return _VALUES // _SAMPLED if streams <= _SOON_READ else max(_VALUES, one_in(streams // _VALUES))


def sampled(one_in: int) -> str:
    """The condition for one stream in so many, always the same ones: the last two bytes of an id are random.

    Indexes stream_sampled, and stream_sampled_less from one in 256 on.
    """
    if one_in == 1:
        return "true"
    last, before = (f"get_byte(uuid_send(s.id), {place})" for place in (15, 14))
    if one_in < _VALUES:
        return f"{last} < {_SAMPLED} AND {last} < {_VALUES // one_in}"
    return f"{last} < 1" if one_in == _VALUES else f"{last} < 1 AND {before} < {_VALUES**2 // one_in}"


def sample_of(one_in: int, time: str, *, has_all: bool) -> str:
    """The source for one stream in so many, of a `time` that is a condition. They are read first, whatever else is
    asked of them: Postgres takes another index for quicker, and reads streams by the hundred thousand to find few of
    the sample among them. OFFSET 0 keeps it from that. Unless their index `has_all` that is asked for, it tells which
    they are: all that it has would be read otherwise."""
    those = f"{time} AND {sampled(one_in)} OFFSET 0"
    if has_all:
        return _STREAMS.format(those=f"WHERE {those}")
    return _STREAMS.replace("FROM records_stream AS s {those}", _EACH_OF.format(those=those))


def is_in_index(names: Iterable[str]) -> bool:
    """Whether the indexes of samples have all that filters of these names ask for."""
    return _BESIDE_INDEX.isdisjoint(name.removeprefix("not_") for name in names)
