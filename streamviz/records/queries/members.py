"""Filters for what streams have of their own: calls of a tool, verdicts of a policy, interventions.

Where few streams have it, they are looked up first. Where many have, a page of the newest is soon found by asking them
one by one, and Postgres, left to itself, would look up all that have it.
"""

from uuid import UUID

from streamviz.records.ids import ALL, Span, between
from streamviz.records.moments import as_datetime
from streamviz.records.queries.filters import EXISTING, Filters
from streamviz.records.queries.rows import rows

# Up to so many are looked up.
FEW = 1_000

_MATCHING = {
    # Index block_of_tool.
    "tools": "SELECT stream_id FROM records_block WHERE kind = 'tool_call' AND name = ANY(%(wanted)s)"
    " AND stream_id BETWEEN %(first)s AND %(last)s LIMIT %(most)s",
    # Index verdict_newest.
    "policies": """
        SELECT verdict.stream_id FROM records_policy AS policy
        JOIN records_policyversion AS version ON version.policy_id = policy.id
        CROSS JOIN LATERAL (
            SELECT stream_id FROM records_verdict
            WHERE policy_version_id = version.id AND stream_id BETWEEN %(first)s AND %(last)s LIMIT %(most)s
        ) AS verdict
        WHERE policy.name = ANY(%(wanted)s) LIMIT %(most)s""",
    # Index verdict_that_intervened.
    "intervened": "SELECT stream_id FROM records_verdict WHERE mode = 'enforce' AND decision <> 'allow'"
    " AND stream_id BETWEEN %(first)s AND %(last)s LIMIT %(most)s",
}


def few_of(filters: Filters) -> dict[str, list[UUID]]:
    """By the field that asks for it: the streams that have what is asked for, where they are few."""
    span = _span(filters)
    found = {}
    for name in EXISTING:
        wanted = getattr(filters, name)
        if wanted:
            ids = _matching(name, wanted, span)
            if ids is not None:
                found[name] = ids
    return found


def _matching(name: str, wanted: object, span: Span) -> list[UUID] | None:
    values = {
        "wanted": list(wanted) if isinstance(wanted, tuple) else None,
        "first": span.first,
        "last": span.last,
        "most": FEW + 1,
    }
    found = [row[0] for row in rows(_MATCHING[name], values)]
    return sorted(set(found)) if len(found) <= FEW else None


def _span(filters: Filters) -> Span:
    """The ids of the time that is asked for."""
    if filters.since is None and filters.until is None:
        return ALL
    since, until = filters.since or as_datetime(0), filters.until
    span = between(since, until or since)
    return span if until else Span(span.first, ALL.last)
