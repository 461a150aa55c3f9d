"""How long blocks waited for one policy, and for whom: for its own verdict, for a person, or for neither in time."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from streamviz.records.queries.rows import rows
from streamviz.records.queries.sources import ORIGIN


class Decider(StrEnum):
    """Who ended a hold."""

    POLICY = "policy"
    PERSON = "person"
    NOBODY = "nobody"
    """The policy failed, or who was asked did not answer in time."""


class Waits(NamedTuple):
    """How many blocks a policy held in a stretch of time, and for how many µs."""

    at: datetime
    decider: Decider
    blocks: int
    p50: float
    p95: float


# Index block_held. A hold that never went out lasted until the last enforced verdict on its block.
_WAITS = """
SELECT date_bin(%(step)s, held_at, %(origin)s), decider, count(*),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY wait),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY wait)
FROM (
    SELECT held_at,
        extract(epoch FROM coalesce(released_at, last_verdict, completed_at) - held_at)::float * 1000000 AS wait,
        CASE WHEN by_person THEN 'person' WHEN has_failed THEN 'nobody' ELSE 'policy' END AS decider
    FROM records_block AS block CROSS JOIN LATERAL (
        SELECT max(verdict.at) AS last_verdict,
            coalesce(bool_or(verdict.by <> '' AND policy.name = %(policy)s), false) AS by_person,
            coalesce(bool_or(verdict.failure <> '' AND policy.name = %(policy)s), false) AS has_failed
        FROM records_verdict AS verdict
        JOIN records_policyversion AS version ON version.id = verdict.policy_version_id
        JOIN records_policy AS policy ON policy.id = version.policy_id
        WHERE verdict.stream_id = block.stream_id AND verdict.ordinal = block.ordinal AND verdict.mode = 'enforce'
    ) AS verdicts
    WHERE held_at >= %(since)s AND held_at < %(until)s AND %(policy)s = ANY (held_by)
        AND coalesce(released_at, completed_at) IS NOT NULL
) AS held
GROUP BY 1, 2 ORDER BY 1, 2
"""


def waits(policy: str, since: datetime, until: datetime, step: timedelta, *, origin: datetime = ORIGIN) -> list[Waits]:
    """The holds of a policy that began between two moments and are over, in buckets of `step`, of which one begins at
    `origin`."""
    values = {"policy": policy, "since": since, "until": until, "step": step, "origin": origin}
    return [Waits(at, Decider(decider), *figures) for at, decider, *figures in rows(_WAITS, values)]
