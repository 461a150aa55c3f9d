"""Figures of a group's streams in a span of time, from the rows with their counts and those with their times."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from streamviz.records.moments import MICROSECOND

# Rows of a bucket's time, its group, and its counts.
Counts = list[tuple[Any, ...]]
NO_TIMES = (None,) * 8


class Bucket(NamedTuple):
    """The streams of a group that were requested in a span of time. Times are µs, `cost` is in US dollars; None is
    unknown. `running` and each outcome are parts of `streams`. `reported` and `priced` count streams whose tokens and
    whose cost are known, `estimated` those whose tokens are estimates. `cached_tokens` are those of the input that were
    read from a cache. ITL is of each stream's median."""

    at: datetime
    group: str
    streams: int
    running: int
    completed: int
    halted: int
    upstream_errors: int
    left: int
    interrupted: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    reported: int
    priced: int
    cached_tokens: int | None
    estimated: int
    ttft_upstream_p50: float | None
    ttft_upstream_p95: float | None
    ttft_client_p50: float | None
    ttft_client_p95: float | None
    itl_p50: float | None
    itl_p95: float | None
    tpot_p50: float | None
    tpot_p95: float | None


def buckets_of(counts: Counts, times: Mapping[tuple[Any, Any], tuple[float | None, ...]]) -> list[Bucket]:
    """Each row of counts with the times of its bucket, if they are known."""
    return [bucket_of(row, times.get(row[:2], NO_TIMES)) for row in counts]


def bucket_of(counted: tuple[Any, ...], times: tuple[float | None, ...]) -> Bucket:
    """Costs are added up exactly, as decimals, and given as floats."""
    bucket = Bucket(*counted, *times)
    return bucket._replace(group=str(bucket.group), cost=None if bucket.cost is None else float(bucket.cost))


def sums(counts: Counts) -> list[Any]:
    """The totals of all buckets; None for a column in which nothing is known."""
    columns = list(zip(*counts, strict=True))[2:]
    known = [[value for value in column if value is not None] for column in columns]
    return [sum(values) if values else None for values in known]


def flat(percentiles: tuple[list[timedelta] | None, ...]) -> tuple[float | None, ...]:
    """The percentiles in one row, in µs; a pair that is unknown, because there is nothing to rank, is two Nones."""
    known = (each for pair in percentiles for each in pair or (None, None))
    return tuple(None if each is None else each / MICROSECOND for each in known)
