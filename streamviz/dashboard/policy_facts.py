"""What a policy's page says about it: verdicts, holds, changes."""

import difflib
import json
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import BooleanField, Count, Q
from django.db.models.expressions import RawSQL
from django.utils import timezone

from streamviz.core.judgements import NO_ANSWER
from streamviz.core.verdicts import Decision, Mode
from streamviz.records.models import Policy, PolicyVersion, Verdict
from streamviz.records.queries.policy_samples import one_in_of_verdicts, sampled
from streamviz.records.queries.rows import rows

DAY = timedelta(days=1)
RECENT_VERDICTS = 50
# How far back a policy's page looks.
SPANS = ("24h", "7d")
_MOST_PEOPLE = 5
# Uses the index stream_not_run.
_WHERE_NOT = """
SELECT each ->> 'why', count(*)
FROM records_stream AS stream CROSS JOIN jsonb_array_elements(stream.not_run) AS each
WHERE stream.requested_at >= %(since)s AND NOT (stream.not_run = '[]') AND each ->> 'policy' = %(policy)s
GROUP BY 1 ORDER BY 2 DESC, 1
"""

_UNANSWERED = Q(failure__startswith=NO_ANSWER)
_FAILED = ~Q(failure="") & ~_UNANSWERED
_NOT_ALLOWED = ~Q(decision=Decision.ALLOW.value)
_ENFORCED = Q(mode=Mode.ENFORCE.value)
_BY_HAND = ~Q(by="")
# What every count of a policy's verdicts has.
COUNTED = {
    "judged": Count("pk"),
    "denied": Count("pk", filter=_ENFORCED & Q(decision=Decision.DENY.value)),
    "halted": Count("pk", filter=_ENFORCED & Q(decision=Decision.HALT.value)),
    "replaced": Count("pk", filter=_ENFORCED & Q(decision=Decision.REPLACE.value)),
    "would": Count("pk", filter=_NOT_ALLOWED & Q(mode=Mode.SHADOW.value)),
    "by_hand": Count("pk", filter=_BY_HAND),
    "failures": Count("pk", filter=_FAILED),
}


class Done(NamedTuple):
    """What a policy did in a time span, counted from one stream in `one_in`. `would` counts what it would not have
    allowed while in shadow; `people` are those who decided by hand, and how often; `unanswered` counts what nobody
    decided in time."""

    judged: int
    streams: int
    denied: int
    halted: int
    replaced: int
    would: int
    failures: int
    by_hand: int
    denied_by_hand: int
    unanswered: int
    denied_unanswered: int
    people: list[tuple[str, int]]
    one_in: int

    @property
    def is_estimated(self) -> bool:
        return self.one_in > 1

    @property
    def by_itself(self) -> int:
        """How often it intervened without asking a person."""
        return self.denied + self.halted + self.replaced - self.denied_by_hand - self.denied_unanswered


def done(policy: Policy, since: datetime, until: datetime) -> Done:
    """What a policy did between two times, in three queries. Uses the index verdict_at, or verdict_sample."""
    one_in = one_in_of_verdicts(since, until)
    is_looked_at = RawSQL(sampled("stream_id", one_in), (), BooleanField())  # noqa: S611  all our own
    found = Verdict.objects.filter(is_looked_at, policy_version__policy=policy, at__gte=since, at__lt=until).order_by()
    counts = found.aggregate(
        **COUNTED,
        streams=Count("stream", distinct=True),
        denied_by_hand=Count("pk", filter=_BY_HAND & _NOT_ALLOWED),
        unanswered=Count("pk", filter=_ENFORCED & _UNANSWERED),
        denied_unanswered=Count("pk", filter=_ENFORCED & _UNANSWERED & _NOT_ALLOWED),
    )
    people = found.exclude(by="").values_list("by").annotate(times=Count("pk")).order_by("-times", "by")[:_MOST_PEOPLE]
    return Done(
        **{name: number * one_in for name, number in counts.items()},
        people=[(name, times * one_in) for name, times in people],
        one_in=one_in,
    )


def recent_verdicts(policy: Policy, only: str) -> list[Verdict]:
    """The newest verdicts; `only` is `shadow` (what it would have done), `intervened`, `failed`, or empty. Their
    streams' requests are not read."""
    found = Verdict.objects.filter(policy_version__policy=policy).select_related("policy_version", "stream__session")
    found = found.defer("stream__request")
    wanted = {
        "shadow": _NOT_ALLOWED & Q(mode=Mode.SHADOW.value),
        "intervened": _NOT_ALLOWED & _ENFORCED,
        "failed": _FAILED,
    }.get(only, Q())
    return list(found.filter(wanted).order_by("-at")[:RECENT_VERDICTS])


def where_not(policy: Policy) -> list[tuple[str, int]]:
    """Why it did not run on streams of the last day, and on how many."""
    return rows(_WHERE_NOT, {"policy": policy.name, "since": timezone.now() - DAY})


class VersionRow(NamedTuple):
    """A version, and how it differs from the one before: lines that begin with + or -."""

    version: PolicyVersion
    changes: list[str]


def version_rows(policy: Policy) -> list[VersionRow]:
    """All versions, newest first."""
    versions = list(policy.versions.select_related("changed_by"))
    before = [*versions[1:], None]
    return [VersionRow(version, _changes(older, version)) for version, older in zip(versions, before, strict=True)]


def _changes(older: PolicyVersion | None, newer: PolicyVersion) -> list[str]:
    if older is None:
        return []
    lines = difflib.unified_diff(_lines(older), _lines(newer), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def _lines(version: PolicyVersion) -> list[str]:
    fields = version.fields()
    shown = json.dumps(fields.pop("parameters"), indent=2, ensure_ascii=False).splitlines()
    return [*(f"{name.replace('_', ' ')}: {value}" for name, value in fields.items()), *shown]
