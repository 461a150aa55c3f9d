"""Statistics of streams by time and by what they have in common, and of policies by time."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from streamviz.records.models import Outcome
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import planned, rows


class Grouping(StrEnum):
    """What streams are grouped by; the value is SQL."""

    NOTHING = "''"
    MODEL = "s.requested_model"
    PROVIDER = "s.provider"
    KEY = "coalesce((SELECT name FROM records_apikey WHERE id = s.key_id), '')"
    SESSION = "(SELECT label FROM records_session WHERE id = s.session_id)"


# What rows are added up by before the group's name is looked up; it has the name by which that is done.
_COLUMNS = {
    Grouping.NOTHING: "'' AS nothing",
    Grouping.MODEL: "s.requested_model",
    Grouping.PROVIDER: "s.provider",
    Grouping.KEY: "s.key_id",
    Grouping.SESSION: "s.session_id",
}
# In the order of Bucket's fields.
_OUTCOMES = (
    "",
    Outcome.COMPLETED.value,
    Outcome.HALTED.value,
    Outcome.UPSTREAM_ERROR.value,
    Outcome.CLIENT_DISCONNECTED.value,
    Outcome.INTERRUPTED.value,
)


class Bucket(NamedTuple):
    """The streams of a group that were requested in a stretch of time. Times are µs, `cost` is in US dollars; None is
    unknown. `running` and `failed` (upstream's errors) are among `streams`, and so are the others. `reported` and
    `priced` are those whose tokens and whose cost are known. ITL is of each stream's median."""

    at: datetime
    group: str
    streams: int
    running: int
    completed: int
    halted: int
    failed: int
    left: int
    interrupted: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    reported: int
    priced: int
    ttft_upstream_p50: float | None
    ttft_upstream_p95: float | None
    ttft_client_p50: float | None
    ttft_client_p95: float | None
    itl_p50: float | None
    itl_p95: float | None
    tpot_p50: float | None
    tpot_p95: float | None


class Statistics(NamedTuple):
    """Buckets by time and group. Times in them are those of a `share` of the streams, from 0 to 1: all of them, unless
    there are very many."""

    buckets: list[Bucket]
    share: float


class PolicyBucket(NamedTuple):
    """What a policy did in a stretch of time: verdicts, those that intervened, those in shadow that would have,
    failures, and µs that they took."""

    at: datetime
    policy: str
    verdicts: int
    interventions: int
    would: int
    failures: int
    took_p50: float
    took_p95: float


class Holds(NamedTuple):
    """How many blocks a policy held, and for how many µs."""

    blocks: int
    p50: float
    p95: float


# The times of more streams than this are estimated from one in 16 of them: sorting is what takes long.
SAMPLE = 10_000
SHARE = 1 / 16

# Index stream_statistics. What a group is called is looked up once for all of its streams.
_COUNTS = """
SELECT at, {group}, outcome, sum(streams)::bigint, sum(input)::bigint, sum(output)::bigint, sum(cost)::float,
    sum(reported)::bigint, sum(priced)::bigint
FROM (
    SELECT
        date_bin(%(step)s, s.requested_at, %(origin)s) AS at,
        {column},
        outcome,
        count(*) AS streams,
        sum(input_tokens) AS input,
        sum(output_tokens) AS output,
        sum(cost) AS cost,
        count(output_tokens) AS reported,
        count(cost) AS priced
    FROM records_stream AS s
    WHERE {conditions}
    GROUP BY 1, 2, 3
) AS s
GROUP BY 1, 2, 3
"""
# Index stream_sample, or stream_newest.
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
        extract(epoch FROM upstream_first_at - s.requested_at)::float * 1000000 AS upstream,
        extract(epoch FROM client_first_at - s.requested_at)::float * 1000000 AS client,
        itl_p50_us::float AS itl,
        extract(epoch FROM ended_at - upstream_first_at)::float * 1000000
            / nullif(greatest(output_tokens - 1, 0), 0) AS tpot
    FROM records_stream AS s
    WHERE {conditions} AND {sample}
) AS each
GROUP BY 1, 2
"""
# The last byte of an id is random: it chooses the sample, always the same one.
_SAMPLED = "get_byte(uuid_send(s.id), 15) < 16"
_NO_TIMES = (None,) * 8
# Index verdict_at.
_POLICIES = """
SELECT
    date_bin(%(step)s, verdict.at, %(origin)s) AS at,
    policy.name,
    count(*),
    count(*) FILTER (WHERE verdict.mode = 'enforce' AND verdict.decision <> 'allow'),
    count(*) FILTER (WHERE verdict.mode = 'shadow' AND verdict.decision <> 'allow'),
    count(*) FILTER (WHERE verdict.failure <> ''),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY verdict.took_us::float),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY verdict.took_us::float)
FROM records_verdict AS verdict
JOIN records_policyversion AS version ON version.id = verdict.policy_version_id
JOIN records_policy AS policy ON policy.id = version.policy_id
WHERE verdict.at >= %(since)s AND verdict.at < %(until)s
GROUP BY 1, 2 ORDER BY 1, 2
"""
# Index block_held.
_HOLDS = """
SELECT holder, count(*),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY wait),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY wait)
FROM (
    SELECT held_by, extract(epoch FROM coalesce(released_at, completed_at) - held_at)::float * 1000000 AS wait
    FROM records_block
    WHERE held_at >= %(since)s AND held_at < %(until)s AND coalesce(released_at, completed_at) IS NOT NULL
) AS held, unnest(held_by) AS holder
GROUP BY 1
"""
# A time that buckets of minutes, hours, days and weeks begin at: a Monday.
_ORIGIN = datetime(2024, 1, 1, tzinfo=UTC)


def by_time(
    filters: Filters,
    step: timedelta,
    grouping: Grouping = Grouping.NOTHING,
    *,
    origin: datetime = _ORIGIN,
    has_times: bool = True,
) -> Statistics:
    """The streams that are asked for, in buckets of `step`, of which one begins at `origin`; a bucket with none of them
    is left out. Without `has_times` they are only counted, which costs less."""
    wanted = wanted_streams(filters)
    sql = {"group": grouping.value, "column": _COLUMNS[grouping], "conditions": wanted.of("s")}
    values = {**wanted.values, "step": step, "origin": origin}
    # Postgres takes each time for a group of its own, and would sort all streams rather than add them up at once.
    with planned("enable_seqscan = off", "work_mem = '64MB'", "jit = off"):
        counts = _by_bucket(rows(_COUNTS.format(**sql), values))
        is_all = sum(count[0] for bucket in counts.values() for count in bucket.values()) <= SAMPLE
        found = rows(_TIMES.format(sample="true" if is_all else _SAMPLED, **sql), values) if has_times else []
    times = {row[:2]: _flat(row[2:]) for row in found}
    buckets = [_bucket(place, counts[place], times.get(place, _NO_TIMES)) for place in sorted(counts)]
    return Statistics(buckets, 1.0 if is_all else SHARE)


def _by_bucket(found: list[tuple[Any, ...]]) -> dict[tuple[datetime, str], dict[str, tuple[Any, ...]]]:
    """What was added up, by bucket and outcome."""
    counts: dict[tuple[datetime, str], dict[str, tuple[Any, ...]]] = defaultdict(dict)
    for at, group, outcome, *added in found:
        counts[at, group][outcome] = tuple(added)
    return counts


def _bucket(place: tuple[datetime, str], counts: dict[str, tuple[Any, ...]], times: tuple[float | None, ...]) -> Bucket:
    streams = {outcome: added[0] for outcome, added in counts.items()}
    sums = [_sum(added[n] for added in counts.values()) for n in (1, 2, 3)]
    known = [sum(added[n] for added in counts.values()) for n in (4, 5)]
    return Bucket(*place, sum(streams.values()), *(streams.get(each, 0) for each in _OUTCOMES), *sums, *known, *times)


def _sum(known: Iterable[Any]) -> Any:
    """None where nothing is known."""
    values = [value for value in known if value is not None]
    return sum(values) if values else None


def _flat(percentiles: tuple[Any, ...]) -> tuple[float | None, ...]:
    """One after another; two that are not known where there is nothing to order."""
    return tuple(each for pair in percentiles for each in pair or (None, None))


def policies_by_time(
    since: datetime, until: datetime, step: timedelta, *, origin: datetime = _ORIGIN
) -> list[PolicyBucket]:
    """What each policy did between two moments, in buckets of `step`, of which one begins at `origin`."""
    values = {"since": since, "until": until, "step": step, "origin": origin}
    return [PolicyBucket(*row) for row in rows(_POLICIES, values)]


def holds(since: datetime, until: datetime) -> dict[str, Holds]:
    """How long blocks waited that were held between two moments and are not any more, by the policy that held them."""
    found = rows(_HOLDS, {"since": since, "until": until})
    return {policy: Holds(*figures) for policy, *figures in found}
