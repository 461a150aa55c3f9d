"""How often upstreams broke the rules of their formats, by provider and model."""

from datetime import datetime
from typing import NamedTuple

from streamviz.core.wire import LINT_RULES
from streamviz.records.queries.rows import rows

MOST = 50
# Index lint_note_at.
_COUNTS = """
SELECT provider, model, rule, count(*), sum(times)::bigint FROM records_lintnote
WHERE at >= %(since)s AND at < %(until)s GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT %(most)s
"""


class Broken(NamedTuple):
    """A rule that this many streams of a provider's model broke, and how many `times` in total."""

    provider: str
    model: str
    rule: str
    streams: int
    times: int

    @property
    def demand(self) -> str:
        """What the rule requires."""
        return LINT_RULES.get(self.rule, "")


def broken_rules(since: datetime, until: datetime, most: int = MOST) -> list[Broken]:
    """Rules broken by the streams requested between two moments, those broken by most streams first."""
    return [Broken(*row) for row in rows(_COUNTS, {"since": since, "until": until, "most": most})]
