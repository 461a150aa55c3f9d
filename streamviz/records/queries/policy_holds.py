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


class Holds(NamedTuple):
    """How many blocks a policy held, and for how many µs."""

    blocks: int
    p50: float
    p95: float


# Index block_held. What a block waited for one of the policies that held it: until the block was whole, which all of
# them need, and then what that policy took to decide. Without a verdict it waited to the end of the hold: until it went
# out, or else the last enforced verdict on it. Verdicts are looked up only where one policy alone does not explain it.
_HELD = """
SELECT held_at, holder, decider, least(whole, until_whole + took) AS wait
FROM (
    SELECT held_at, holder,
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
    WHERE held_at >= %(since)s AND held_at < %(until)s AND coalesce(released_at, completed_at) IS NOT NULL AND {of}
) AS held
"""
_BY_ONE = "holder = %(policy)s AND %(policy)s = ANY (held_by)"
_NEEDED = "(cardinality(held_by) > 1 OR released_at IS NULL)"
_FIGURES = """count(*),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY wait),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY wait)"""
_WAITS = f"""
SELECT date_bin(%(step)s, held_at, %(origin)s), decider, {_FIGURES}
FROM ({_HELD.format(looks="true", of=_BY_ONE)}) AS waited
GROUP BY 1, 2 ORDER BY 1, 2
"""  # noqa: S608  all our own
_HOLDS = f"SELECT holder, {_FIGURES} FROM ({_HELD}) AS waited GROUP BY 1"  # noqa: S608  all our own
_HOLDS_OF_ALL = _HOLDS.format(looks=_NEEDED, of="true")
_HOLDS_OF_ONE = _HOLDS.format(looks=_NEEDED, of=_BY_ONE)


def waits(policy: str, since: datetime, until: datetime, step: timedelta, *, origin: datetime = ORIGIN) -> list[Waits]:
    """The holds of a policy that began between two moments and are over, in buckets of `step`, of which one begins at
    `origin`."""
    values = {"policy": policy, "since": since, "until": until, "step": step, "origin": origin}
    return [Waits(at, Decider(decider), *figures) for at, decider, *figures in rows(_WAITS, values)]


def holds(since: datetime, until: datetime) -> dict[str, Holds]:
    """The holds that began between two moments and are over, by the policy that held."""
    return {policy: Holds(*figures) for policy, *figures in rows(_HOLDS_OF_ALL, {"since": since, "until": until})}


def holds_of(policy: str, since: datetime, until: datetime) -> Holds | None:
    """The holds of a policy that began between two moments and are over; None: there are none."""
    found = rows(_HOLDS_OF_ONE, {"policy": policy, "since": since, "until": until})
    return Holds(*found[0][1:]) if found else None
