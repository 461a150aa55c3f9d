"""Filters on what belongs to a stream: tool calls, verdicts of a policy, interventions.

If few streams match, they are looked up first. If many do, checking the newest one by one soon fills a page, whereas
Postgres, left to itself, would look up all that match.
"""

from datetime import timedelta

from streamviz.records.ids import ALL, Span, between, milliseconds_of
from streamviz.records.moments import as_datetime
from streamviz.records.queries.filters import EXISTING, Filters, Found, Values
from streamviz.records.queries.rows import rows

# The most streams that are looked up.
FEW = 2_500

# For tools and interventions, the newest first.
_MATCHING = {
    # Index block_of_tool.
    "tools": """
        SELECT called.stream_id FROM unnest(%(wanted)s::text[]) AS tool (name) CROSS JOIN LATERAL (
            SELECT stream_id FROM records_block
            WHERE kind = 'tool_call' AND name = tool.name AND stream_id BETWEEN %(first)s AND %(last)s
            ORDER BY stream_id DESC LIMIT %(most)s
        ) AS called ORDER BY 1 DESC LIMIT %(most)s""",
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
    "intervened": """
        SELECT stream_id FROM records_verdict
        WHERE mode = 'enforce' AND decision <> 'allow' AND stream_id BETWEEN %(first)s AND %(last)s
        ORDER BY stream_id DESC LIMIT %(most)s""",
}
# Index session_undated. Ids of imported streams need not encode when these were requested.
_HAS_UNDATED = "SELECT EXISTS (SELECT FROM records_session WHERE NOT is_dated)"
# An id is made once a request has been read, so a stream with a lower id was not requested later, as far as clocks are
# right.
_LEEWAY = timedelta(minutes=10)
# A stream may be judged long after it was requested, but not before. Index verdict_newest.
_LAST_JUDGED = """
SELECT max(newest.at) FROM records_policy AS policy
JOIN records_policyversion AS version ON version.policy_id = policy.id
CROSS JOIN LATERAL (
    SELECT at FROM records_verdict WHERE policy_version_id = version.id ORDER BY at DESC LIMIT 1
) AS newest WHERE policy.name = ANY(%(wanted)s)
"""


def streams_with(filters: Filters) -> dict[str, Found]:
    """What is known of the streams that match, for each field of EXISTING that is set."""
    asked = [(name, wanted) for name in EXISTING if (wanted := getattr(filters, name))]
    if not asked:
        return {}
    are_dated = not rows(_HAS_UNDATED)[0][0]
    span = _span(filters) if are_dated else ALL
    values = {"first": span.first, "last": span.last, "most": FEW + 1}
    return {name: _found(name, wanted, values, are_dated=are_dated) for name, wanted in asked}


def _found(name: str, wanted: object, values: Values, *, are_dated: bool) -> Found:
    asked = {**values, "wanted": list(wanted)} if isinstance(wanted, tuple) else values
    ids = [row[0] for row in rows(_MATCHING[name], asked)]
    if len(ids) <= FEW:
        return Found(sorted(set(ids)))
    if name == "policies":
        return Found(None, rows(_LAST_JUDGED, asked)[0][0])
    return Found(None, as_datetime(milliseconds_of(max(ids)) * 1000) + _LEEWAY if are_dated else None)


def _span(filters: Filters) -> Span:
    """The range of ids for the time of the filters."""
    if filters.since is None and filters.until is None:
        return ALL
    since, until = filters.since or as_datetime(0), filters.until
    span = between(since, until or since)
    return span if until else Span(span.first, ALL.last)
