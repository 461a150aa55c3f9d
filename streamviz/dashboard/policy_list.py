"""The list of policies: enforced, in shadow and off, each with its last day."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Prefetch
from django.utils import timezone

from streamviz.core.verdicts import Mode
from streamviz.dashboard import charts, chosen_timespans
from streamviz.dashboard.compared_figures import Figure, figure_of
from streamviz.dashboard.policy_facts import COUNTED
from streamviz.dashboard.policy_figures import policy_charts
from streamviz.dashboard.sorting import Sorting
from streamviz.live.presentation.durations import exact
from streamviz.live.presentation.figures import estimates
from streamviz.records.models import Policy, PolicyVersion, Verdict
from streamviz.records.queries.policy_holds import Holds, holds


class Counts(NamedTuple):
    """Verdicts in a time span. `would` counts what would not have been allowed, in shadow."""

    judged: int = 0
    denied: int = 0
    halted: int = 0
    replaced: int = 0
    would: int = 0
    by_hand: int = 0
    failures: int = 0


class PolicyRow(NamedTuple):
    """A policy with its last day. `hold` is the p95 of how long blocks that it held waited (µs, None if it held none).
    `asking` is the number of blocks for which it waits for a person now."""

    policy: Policy
    version: PolicyVersion
    counts: Counts
    hold: int | None
    asking: int
    chart: charts.Chart


class Group(NamedTuple):
    """The policies of a mode, in the order in which they run, or in the one that was asked for."""

    mode: Mode
    name: str
    words: str
    rows: list[PolicyRow]


class PolicyList(NamedTuple):
    """The whole page."""

    groups: list[Group]
    figures: list[Figure]
    would: int
    estimates: str


_GROUPS = {
    Mode.ENFORCE: ("Enforced", "run in this order, each on what the ones before let through"),
    Mode.SHADOW: ("In shadow", "judge and record; the client sees no change"),
    Mode.OFF: ("Off", "do not run"),
}
SORTED: dict[str, Callable[[PolicyRow], Any]] = {
    "order": lambda row: row.policy.order,
    "policy": lambda row: row.policy.name,
    "judged": lambda row: row.counts.judged,
    "hold": lambda row: row.hold,
    "failures": lambda row: row.counts.failures,
    "changed": lambda row: row.version.changed_at,
}
SMALLEST_FIRST = ("order", "policy")


def policy_list(sorting: Sorting, asking: Mapping[str, int]) -> PolicyList:
    """All policies with their last day, compared with the day before, counted as on their own pages; in eight queries.
    `asking` has the number of blocks for which each waits for a person."""
    span = chosen_timespans.chosen({}, timezone.now(), None)
    lasts = span.until - span.since
    versions = PolicyVersion.objects.select_related("changed_by")
    policies = Policy.objects.prefetch_related(Prefetch("versions", versions))
    counts, before = _counts(span.since, span.until), _counts(span.since - lasts, span.since)
    held = holds(span.since - lasts, span.until, lasts)
    waits, waited = held[span.since], held[span.since - lasts]
    drawn = policy_charts(span)
    rows = [
        PolicyRow(
            policy=each,
            version=each.present(each.versions.all()),
            counts=counts.get(each.pk, Counts()),
            hold=int(waits[each.name].p95) if each.name in waits else None,
            asking=asking.get(each.name, 0),
            chart=drawn.get(each.name, charts.Chart([], "")),
        )
        for each in policies
    ]
    total = _sum(counts.values())
    return PolicyList(
        groups=_grouped(sorting.of(rows, SORTED)),
        figures=_figures(total, _sum(before.values()), waits, waited),
        would=total.would,
        estimates=estimates({"holds": max((each.one_in for each in waits.values()), default=1)}),
    )


def _grouped(rows: Iterable[PolicyRow]) -> list[Group]:
    by_mode: dict[str, list[PolicyRow]] = defaultdict(list)
    for row in rows:
        by_mode[row.policy.mode].append(row)
    return [Group(mode, *words, by_mode[mode]) for mode, words in _GROUPS.items() if by_mode[mode]]


def _counts(since: datetime, until: datetime) -> dict[int, Counts]:
    """Counts by policy. Uses the index verdict_at."""
    found = Verdict.objects.filter(at__gte=since, at__lt=until).order_by().values("policy_version__policy")
    return {row.pop("policy_version__policy"): Counts(**row) for row in found.annotate(**COUNTED)}


def _sum(counts: Iterable[Counts]) -> Counts:
    return Counts(*(sum(each) for each in zip(Counts(), *counts, strict=True)))


def _figures(total: Counts, before: Counts, waits: Mapping[str, Holds], waited: Mapping[str, Holds]) -> list[Figure]:
    was = None if before == Counts() else before
    return [
        figure_of("Judged, 24 h", total.judged, was and was.judged),
        figure_of("Denied or halted", total.denied + total.halted, was and was.denied + was.halted),
        figure_of("Replaced", total.replaced, was and was.replaced),
        figure_of("Longest hold p95", _longest(waits), _longest(waited), exact),
        figure_of("Failures", total.failures, was and was.failures),
    ]


def _longest(waits: Mapping[str, Holds]) -> float | None:
    return max((each.p95 for each in waits.values()), default=None)
