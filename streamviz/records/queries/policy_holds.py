"""How long blocks waited for one policy, and for whom: its own verdict, a person, or an answer that did not come in
time."""

from collections import defaultdict
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from streamviz.records.queries.policy_samples import one_in_of_holds, sampled
from streamviz.records.queries.rows import planned, rows
from streamviz.records.queries.sources import ORIGIN


class Decider(StrEnum):
    """Who ended a hold."""

    POLICY = "policy"
    PERSON = "person"
    NOBODY = "nobody"
    """The policy failed, or whoever it asked did not answer in time."""


class Holds(NamedTuple):
    """How many blocks a policy held, and for how many µs; computed from one stream in `one_in`."""

    blocks: int
    p50: float
    p95: float
    one_in: int = 1

    @property
    def is_estimated(self) -> bool:
        return self.one_in > 1


class Waits(NamedTuple):
    """A policy's holds with the same decider. `at` is when their span of time begins."""

    at: datetime
    decider: Decider
    holds: Holds


class PolicyHolds(NamedTuple):
    """All holds of a policy, by who ended them, and by span of time. `whole` is None if there are none."""

    whole: Holds | None
    by_decider: dict[Decider, Holds]
    by_time: list[Waits]


# Index block_held, or held_sample. How long a block waited for one of the policies that held it: until the block was
# whole, which all of them need, and then for as long as that policy took to decide. Without verdicts, or if one policy
# alone held it, it waited to the end of the hold: until it was released, or else until the last enforced verdict on it.
_HELD = """
SELECT held_at, holder, decider, CASE WHEN {is_shared} THEN least(whole, until_whole + took) ELSE whole END AS wait
FROM (
    SELECT held_at, held_by, released_at, holder,
        extract(epoch FROM coalesce(released_at, last_verdict, completed_at) - held_at)::float * 1000000 AS whole,
        CASE WHEN first_begun < held_at THEN 0 ELSE extract(epoch FROM first_begun - held_at)::float * 1000000 END
            AS until_whole,
        coalesce(own_took, 0) AS took,
        CASE WHEN by_person THEN 'person' WHEN has_failed THEN 'nobody' ELSE 'policy' END AS decider
    FROM records_block AS block CROSS JOIN LATERAL unnest(held_by) AS holder
    LEFT JOIN (
        SELECT policy.name, array_agg(version.id) AS versions
        FROM records_policyversion AS version JOIN records_policy AS policy ON policy.id = version.policy_id
        GROUP BY 1
    ) AS policies ON policies.name = holder
    CROSS JOIN LATERAL (
        SELECT max(at) AS last_verdict,
            min(at - took_us * interval '1 microsecond') AS first_begun,
            max(took_us) FILTER (WHERE policy_version_id = ANY (versions)) AS own_took,
            bool_or(by <> '' AND policy_version_id = ANY (versions)) AS by_person,
            bool_or(failure <> '' AND policy_version_id = ANY (versions)) AS has_failed
        FROM records_verdict AS verdict
        WHERE verdict.stream_id = block.stream_id AND verdict.ordinal = block.ordinal AND mode = 'enforce' AND {looks}
    ) AS verdicts
    WHERE held_at >= %(since)s AND held_at < %(until)s AND coalesce(released_at, completed_at) IS NOT NULL
        AND {sampled} AND {of}
) AS held
"""
_IS_SHARED = "(cardinality(held_by) > 1 OR released_at IS NULL)"
_OF_ONE = "holder = %(policy)s AND %(policy)s = ANY (held_by)"
_FIGURES = """count(*),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY wait),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY wait)"""
_OF_POLICY = """
SELECT date_bin(%(step)s, held_at, %(origin)s) AS began, decider, {figures}
FROM ({held}) AS waited
GROUP BY GROUPING SETS ((began, decider), (decider), ()) HAVING count(*) > 0 ORDER BY 1, 2
"""
# Verdicts are looked up only if a hold is not explained by one policy alone.
_OF_ALL = """
SELECT date_bin(%(step)s, held_at, %(since)s), holder, {figures}
FROM ({held}) AS waited
GROUP BY 1, 2
"""


def holds_of(policy: str, since: datetime, until: datetime, step: timedelta) -> PolicyHolds:
    """A policy's holds that began between two moments and are over, in total and in steps of `step`."""
    found = _found(_OF_POLICY, since, until, step, looks="true", of=_OF_ONE, policy=policy)
    return PolicyHolds(
        next((held for _, decider, held in found if decider is None), None),
        {Decider(decider): held for at, decider, held in found if at is None and decider is not None},
        [Waits(at, Decider(decider), held) for at, decider, held in found if at is not None],
    )


def holds(since: datetime, until: datetime, step: timedelta) -> dict[datetime, dict[str, Holds]]:
    """The holds that began between two moments and are over, by policy, in each step of `step` from `since` on."""
    by_time: dict[datetime, dict[str, Holds]] = defaultdict(dict)
    for at, policy, found in _found(_OF_ALL, since, until, step, looks=_IS_SHARED, of="true"):
        by_time[at][policy] = found
    return by_time


def _found(
    statement: str, since: datetime, until: datetime, step: timedelta, *, looks: str, of: str, policy: str = ""
) -> list[tuple[Any, Any, Holds]]:
    one_in = one_in_of_holds(since, until)
    held = _HELD.format(is_shared=_IS_SHARED, looks=looks, of=of, sampled=sampled("block.stream_id", one_in))
    values = {"policy": policy, "since": since, "until": until, "step": step, "origin": ORIGIN}
    with planned():
        found = rows(statement.format(figures=_FIGURES, held=held), values)
    return [(at, by, Holds(blocks * one_in, p50, p95, one_in)) for at, by, blocks, p50, p95 in found]
