"""Statistics of streams by time and by what they have in common, from the index stream_statistics; and of policies."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import rows


class Grouping(StrEnum):
    """What streams are grouped by; the value is SQL."""

    NOTHING = "''"
    MODEL = "s.requested_model"
    PROVIDER = "s.provider"
    KEY = "coalesce((SELECT name FROM records_apikey WHERE id = s.key_id), '')"
    SESSION = "(SELECT label FROM records_session WHERE id = s.session_id)"


class Bucket(NamedTuple):
    """The streams of a group that were requested in a stretch of time. Times are µs, `cost` is in US dollars; None is
    unknown. `running` and `failed` (upstream's errors) are among `streams`, and so are the others."""

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
    ttft_upstream_p50: float | None
    ttft_upstream_p95: float | None
    ttft_client_p50: float | None
    ttft_client_p95: float | None
    itl_p50: float | None
    tpot_p50: float | None


class Statistics(NamedTuple):
    """Buckets by time and group. Times in them are those of a `share` of the streams, from 0 to 1: all of them, unless
    there are very many."""

    buckets: list[Bucket]
    share: float


class PolicyBucket(NamedTuple):
    """What a policy did in a stretch of time: verdicts, those that intervened, failures, and µs that they took."""

    at: datetime
    policy: str
    verdicts: int
    interventions: int
    failures: int
    took_p95: float


# Times of more streams than this are estimated from about so many: sorting is what takes long.
SAMPLE = 10_000
_SHARES = 65_536

_COUNT = "SELECT count(*) FROM records_stream AS s WHERE {conditions}"
_COUNTS = """
SELECT
    date_bin(%(step)s, s.requested_at, %(origin)s),
    {group},
    count(*),
    count(*) FILTER (WHERE outcome = ''),
    count(*) FILTER (WHERE outcome = 'completed'),
    count(*) FILTER (WHERE outcome = 'halted'),
    count(*) FILTER (WHERE outcome = 'upstream_error'),
    count(*) FILTER (WHERE outcome = 'client_disconnected'),
    count(*) FILTER (WHERE outcome = 'interrupted'),
    sum(input_tokens)::bigint,
    sum(output_tokens)::bigint,
    sum(cost)::float
FROM records_stream AS s
WHERE {conditions}
GROUP BY 1, 2 ORDER BY 1, 2
"""
# The last bytes of an id are random: they choose the sample, always the same one.
_TIMES = """
SELECT at, group_name,
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY upstream),
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY client),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY itl),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY tpot)
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
    WHERE {conditions} AND get_byte(uuid_send(s.id), 14) * 256 + get_byte(uuid_send(s.id), 15) < %(most)s
) AS each
GROUP BY 1, 2
"""
# Index verdict_at.
_POLICIES = """
SELECT
    date_bin(%(step)s, verdict.at, %(origin)s) AS at,
    policy.name,
    count(*),
    count(*) FILTER (WHERE verdict.mode = 'enforce' AND verdict.decision <> 'allow'),
    count(*) FILTER (WHERE verdict.failure <> ''),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY verdict.took_us::float)
FROM records_verdict AS verdict
JOIN records_policyversion AS version ON version.id = verdict.policy_version_id
JOIN records_policy AS policy ON policy.id = version.policy_id
WHERE verdict.at >= %(since)s AND verdict.at < %(until)s
GROUP BY 1, 2 ORDER BY 1, 2
"""
# A time that buckets of minutes, hours, days and weeks begin at: a Monday.
_ORIGIN = "2024-01-01 00:00:00+00"


def by_time(filters: Filters, step: timedelta, grouping: Grouping = Grouping.NOTHING) -> Statistics:
    """The streams that are asked for, in buckets of `step`; a bucket with none of them is left out."""
    wanted = wanted_streams(filters)
    sql = {"group": grouping.value, "conditions": wanted.of("s")}
    values = {**wanted.values, "step": step, "origin": _ORIGIN}
    [(streams,)] = rows(_COUNT.format(**sql), values)
    most = _SHARES if streams <= SAMPLE else -(-_SHARES * SAMPLE // streams)
    times = {row[:2]: _flat(row[2:]) for row in rows(_TIMES.format(**sql), values | {"most": most})}
    counts = rows(_COUNTS.format(**sql), values)
    return Statistics([Bucket(*row, *times.get(row[:2], (None,) * 6)) for row in counts], most / _SHARES)


def _flat(percentiles: tuple[Any, ...]) -> tuple[float | None, ...]:
    upstream, client, *others = percentiles
    return (*(upstream or (None, None)), *(client or (None, None)), *others)


def policies_by_time(since: datetime, until: datetime, step: timedelta) -> list[PolicyBucket]:
    """What each policy did between two moments, in buckets of `step`."""
    values = {"since": since, "until": until, "step": step, "origin": _ORIGIN}
    return [PolicyBucket(*row) for row in rows(_POLICIES, values)]
