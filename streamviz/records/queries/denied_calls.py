"""The calls in a recorded answer that its client did not get."""

from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from streamviz.records.ids import day_before, first_id
from streamviz.records.queries.rows import rows

# The longest pause in a conversation; OpenAI keeps answers for as long.
_LONGEST_REST = timedelta(days=30)
# Of several answers added to one conversation, the newest counts. Index stream_by_mark: asked for just the newest,
# Postgres would go through all streams by time until one has the mark, and usually none has.
ANSWER = """
WITH found AS MATERIALIZED (
    SELECT id, requested_at FROM records_stream
    WHERE marks && %(marks)s::bigint[] AND NOT (marks = '{}') AND id >= %(first)s
)
SELECT id FROM found ORDER BY requested_at DESC LIMIT 1
"""
# Calls that the client got have a release time; incomplete ones may have gone out in part. If a shell ran at the
# provider, the answer also has its output.
_CALLS = """
SELECT label, upstream_id, coalesce((
    SELECT policy.name FROM records_verdict AS verdict
    JOIN records_policyversion AS version ON version.id = verdict.policy_version_id
    JOIN records_policy AS policy ON policy.id = version.policy_id
    WHERE verdict.stream_id = %(stream)s AND verdict.ordinal = block.ordinal
    AND verdict.mode = 'enforce' AND verdict.decision IN ('deny', 'halt')
    ORDER BY verdict.number LIMIT 1
), '') FROM records_block AS block
WHERE stream_id = %(stream)s AND kind = 'tool_call' AND released_at IS NULL AND completed_at IS NOT NULL
AND NOT (label = 'shell_call' AND EXISTS (
    SELECT FROM records_block WHERE stream_id = %(stream)s AND label = 'shell_call_output'
))
ORDER BY ordinal LIMIT 1000
"""


class DeniedCall(NamedTuple):
    """A call by its label and id; `policy` denied it, or halted the answer at it, and is empty if none did."""

    label: str
    id: str
    policy: str


def denied_calls(mark: int) -> tuple[UUID, list[DeniedCall]] | None:
    """The newest answer that left this mark (`records/links.py`), and its denied calls; None if there is no answer."""
    first = day_before(first_id(timezone.now() - _LONGEST_REST))
    for [stream] in rows(ANSWER, {"marks": [mark], "first": first}):
        return stream, [DeniedCall(*row) for row in rows(_CALLS, {"stream": stream})]
    return None
