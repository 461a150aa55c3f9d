"""Statistics of streams, by time and by group."""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, NamedTuple

from streamviz.records.models import Outcome
from streamviz.records.queries.buckets import NO_TIMES, Bucket, Counts, bucket_of, buckets_of, flat, sums
from streamviz.records.queries.filters import Conditions, Filters, Values, conditions
from streamviz.records.queries.grouping import COLUMNS, PLANNED, Grouping, source_of, streams_in
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import BRIEFLY, SearchTooBroad, limited, planned, rows
from streamviz.records.queries.samples import WHOLE_INDEX, is_in_index, one_in, one_in_costly, sampled
from streamviz.records.queries.sources import HALF_HOURS, ORIGIN, sample_of

_OUTCOMES = (
    Outcome.COMPLETED,
    Outcome.HALTED,
    Outcome.UPSTREAM_ERROR,
    Outcome.CLIENT_DISCONNECTED,
    Outcome.INTERRUPTED,
)
# In the order of Bucket's fields.
_BY_OUTCOME = ", ".join(
    f"coalesce(sum(streams) FILTER (WHERE outcome = '{outcome}'), 0)::bigint"
    for outcome in ("", *(each.value for each in _OUTCOMES))
)


class Statistics(NamedTuple):
    """Buckets by time and group, and their sum in `total`: None if there are no buckets, or several groups.

    Times are those of one stream in `timed`, and counts come from one in `counted`; both are 1 unless there are very
    many.
    """

    buckets: list[Bucket]
    total: Bucket | None
    timed: int
    counted: int


# A group's name is looked up once for all of its streams.
_COUNTS = """
SELECT at, {group}, sum(streams)::bigint, {outcomes},
    CASE WHEN sum(reported_input) > 0 THEN sum(input)::bigint END,
    CASE WHEN sum(reported) > 0 THEN sum(output)::bigint END, CASE WHEN sum(priced) > 0 THEN sum(cost) END,
    sum(reported)::bigint, sum(priced)::bigint, CASE WHEN sum(reported_input) > 0 THEN sum(cached)::bigint END,
    sum(estimated)::bigint
FROM (
    SELECT
        date_bin(%(step)s, s.requested_at, %(origin)s) AS at,
        {column},
        outcome,
        sum(streams) AS streams,
        sum(input_tokens) AS input,
        sum(output_tokens) AS output,
        sum(cost) AS cost,
        sum(reported_input) AS reported_input,
        sum(reported) AS reported,
        sum(priced) AS priced,
        coalesce(sum(cached_tokens), 0) AS cached,
        sum(estimated) AS estimated
    FROM {source} AS s
    WHERE {conditions}
    GROUP BY 1, 2, 3
) AS s
GROUP BY 1, 2 HAVING sum(streams) > 0 ORDER BY 1, 2
"""
# Index stream_sampled, or stream_newest.
_TIMES = """
SELECT at, group_name,
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY upstream),
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY client),
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY itl),
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY tpot)
FROM (
    SELECT
        date_bin(%(step)s, s.requested_at, %(origin)s) AS at,
        {group} AS group_name,
        upstream_first_at - s.requested_at AS upstream,
        client_first_at - s.requested_at AS client,
        itl_p50_us * interval '1 microsecond' AS itl,
        (ended_at - upstream_first_at) / nullif(greatest(output_tokens - 1, 0), 0) AS tpot
    FROM records_stream AS s
    WHERE {conditions}
) AS each
GROUP BY GROUPING SETS ({together})
"""
_TOGETHER = (None, None)
# This many matches in a sample estimate the total to within about a seventh.
ENOUGH = 200
# Fewer matches than this say nothing.
LEAST = 20
# A count that would take this many seconds, judging by a sample, is not tried; if the sample says too little, it gets
# this long.
TOO_LONG = 0.5


def by_time(
    filters: Filters,
    step: timedelta,
    grouping: Grouping = Grouping.NOTHING,
    *,
    origin: datetime = ORIGIN,
    has_times: bool = True,
    may_estimate: bool = False,
) -> Statistics:
    """The matching streams, in buckets of `step`, one of which begins at `origin`; empty buckets are left out. Without
    `has_times` streams are only counted; if it `may_estimate`, counts may come from a sample when there are very many.

    Raises SearchTooBroad."""
    parts = {
        "group": grouping.value,
        "column": COLUMNS[grouping],
        "source": source_of(filters, grouping, origin, origin + step),
        "time": conditions(Filters(since=filters.since, until=filters.until)).of("s"),
    }
    with planned(*PLANNED):
        wanted = wanted_streams(filters)
        values = {**wanted.values, "step": step, "origin": origin}
        counts, counted = (
            _about(filters, wanted, parts, values) if may_estimate else (_counts(wanted, parts, values), 1)
        )
        timed = one_in(_number(counts))
        times = _times(wanted, parts, values, timed) if has_times else {}
    buckets = buckets_of(counts, times)
    is_one = bool(buckets) and grouping is Grouping.NOTHING
    total = bucket_of((buckets[0].at, "", *sums(counts)), times.get(_TOGETHER, NO_TIMES)) if is_one else None
    return Statistics(buckets, total, timed, counted)


class Grouped(NamedTuple):
    """One bucket per group for the whole time, with times from one stream in `timed`; and each group's buckets by time,
    without times of streams."""

    whole: list[Bucket]
    by_time: list[Bucket]
    timed: int


def by_group(filters: Filters, since: datetime, until: datetime, step: timedelta, grouping: Grouping) -> Grouped:
    """The matching streams between two moments, by group. Raises SearchTooBroad."""
    filters = replace(filters, since=since, until=until)
    source = source_of(filters, grouping, ORIGIN + step)
    parts = {"group": grouping.value, "column": COLUMNS[grouping], "source": source}
    with planned(*PLANNED):
        wanted = wanted_streams(filters)
        counts = _counts(wanted, parts, {**wanted.values, "step": step, "origin": ORIGIN})
        in_one = {**wanted.values, "step": until - since, "origin": since}
        timed = one_in(_number(counts))
        times = _times(wanted, parts, in_one, timed)
    of_groups: dict[Any, Counts] = defaultdict(list)
    for row in counts:
        of_groups[row[1]].append(row)
    whole = [(since, name, *sums(own)) for name, own in of_groups.items()]
    return Grouped(buckets_of(whole, times), buckets_of(counts, {}), timed)


def _about(filters: Filters, wanted: Conditions, parts: dict[str, str], values: Values) -> tuple[Counts, int]:
    """Counts, and one stream in how many they come from, if there are very many: a sample for what is common, and also
    for what is rarer if counting all of it would take too long."""
    few_of = one_in_costly if wanted.is_costly else one_in
    few = 1 if parts["source"] == HALF_HOURS else few_of(streams_in(filters))
    started = perf_counter()
    found = _counts(wanted, parts, values, few)
    took_for_all = (perf_counter() - started) * few
    try:
        for more in (WHOLE_INDEX, 1):
            if more < few and _number(found) < ENOUGH * few:
                says_little = _number(found) < LEAST * few
                if wanted.is_costly and not says_little and took_for_all > TOO_LONG * more:
                    break
                with limited(seconds=TOO_LONG if says_little else BRIEFLY):
                    found, few = _counts(wanted, parts, values, more), more
    except SearchTooBroad:
        if _number(found) < LEAST * few:
            return _counts(wanted, parts, values), 1
    return found, few


def _number(counts: Counts) -> int:
    return sum(row[2] for row in counts)


def _counts(wanted: Conditions, parts: dict[str, str], values: Values, few: int = 1) -> Counts:
    """The leading columns of buckets, in order, from one stream in `few`, scaled up to all."""
    where = wanted.of("s") if few == 1 else wanted.of_each("s")
    known = parts if few == 1 else parts | {"source": sample_of(few, parts["time"], has_all=is_in_index(values))}
    found = rows(_COUNTS.format(**known, outcomes=_BY_OUTCOME, conditions=where), values)
    return found if few == 1 else [(*row[:2], *(each and each * few for each in row[2:])) for row in found]


def _times(
    wanted: Conditions, parts: dict[str, str], values: Values, few: int
) -> dict[tuple[Any, Any], tuple[float | None, ...]]:
    """The times of each bucket, and of all together if there are no groups."""
    together = "(at, group_name), ()" if parts["group"] == Grouping.NOTHING else "(at, group_name)"
    sql = _TIMES.format(**parts, conditions=f"{wanted.of('s')} AND {sampled(few)}", together=together)
    return {row[:2]: flat(row[2:]) for row in rows(sql, values)}
