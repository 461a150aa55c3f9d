"""What policies decided: how often, with what result, and how long they took."""

from datetime import datetime, timedelta
from typing import NamedTuple

from streamviz.core.judgements import NO_ANSWER
from streamviz.records.queries.policy_samples import one_in_of_verdicts, sampled
from streamviz.records.queries.rows import planned, rows
from streamviz.records.queries.sources import ORIGIN


class PolicyBucket(NamedTuple):
    """What a policy did in a span of time: verdicts, interventions, shadow verdicts that would have been interventions,
    failures, and how long verdicts took in µs; computed from one stream in `one_in`. What a person decided, or did not
    decide in time, is neither the policy's failure nor its time."""

    at: datetime
    policy: str
    verdicts: int
    interventions: int
    would: int
    failures: int
    took_p50: float | None
    took_p95: float | None
    one_in: int = 1

    @property
    def is_estimated(self) -> bool:
        return self.one_in > 1


class PolicyVerdicts(NamedTuple):
    """What policies did in each span of time, and in total, by policy."""

    by_time: list[PolicyBucket]
    whole: dict[str, PolicyBucket]


# Index verdict_at, or verdict_sample.
_VERDICTS = """
SELECT at, name, count(*),
    count(*) FILTER (WHERE mode = 'enforce' AND decision <> 'allow'),
    count(*) FILTER (WHERE mode = 'shadow' AND decision <> 'allow'),
    count(*) FILTER (WHERE failure <> '' AND NOT was_for_a_person),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY took_us::float) FILTER (WHERE NOT was_for_a_person),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY took_us::float) FILTER (WHERE NOT was_for_a_person)
FROM (
    SELECT date_bin(%(step)s, verdict.at, %(origin)s) AS at, policy.name, verdict.mode, decision, failure, took_us,
        by <> '' OR starts_with(failure, %(no_answer)s) AS was_for_a_person
    FROM records_verdict AS verdict
    JOIN records_policyversion AS version ON version.id = verdict.policy_version_id
    JOIN records_policy AS policy ON policy.id = version.policy_id
    WHERE verdict.at >= %(since)s AND verdict.at < %(until)s AND {sampled}
) AS verdict
GROUP BY GROUPING SETS ((at, name), (name)) ORDER BY 1, 2
"""


def verdicts(since: datetime, until: datetime, step: timedelta) -> PolicyVerdicts:
    """What each policy did between two moments, in total and in steps of `step`."""
    one_in = one_in_of_verdicts(since, until)
    sql = _VERDICTS.format(sampled=sampled("verdict.stream_id", one_in))
    with planned():
        found = rows(sql, {"since": since, "until": until, "step": step, "origin": ORIGIN, "no_answer": NO_ANSWER})
    buckets = [
        (at, PolicyBucket(at or since, name, *[*(each * one_in for each in counts), p50, p95, one_in]))
        for at, name, *counts, p50, p95 in found
    ]
    whole = {each.policy: each for at, each in buckets if at is None}
    return PolicyVerdicts([each for at, each in buckets if at is not None], whole)
