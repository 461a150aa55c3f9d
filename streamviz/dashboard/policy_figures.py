"""What policies did in a time span, drawn over it, and when they were changed."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.urls import reverse

from streamviz.dashboard import charts
from streamviz.dashboard.links import sessions_url, term
from streamviz.dashboard.time_axis import Mark, place
from streamviz.dashboard.timespans import Timespan, between
from streamviz.live.presentation.durations import exact
from streamviz.live.presentation.figures import about, count, plural
from streamviz.records.models import PolicyVersion
from streamviz.records.queries.policy_holds import Decider, Holds, Waits, holds, holds_of
from streamviz.records.queries.policy_verdicts import PolicyBucket, verdicts

_MOST_CHANGES = 50


class PolicyRow(NamedTuple):
    """What a policy did in the whole time; `holds` is None if it held nothing that was released. Verdicts and holds are
    counted from one stream in `verdicts_from`, and in `holds_from`."""

    name: str
    href: str
    figures: PolicyBucket | None
    holds: Holds | None
    chart: charts.Chart
    verdicts_from: int
    holds_from: int

    @property
    def verdicts_are_estimated(self) -> bool:
        return self.verdicts_from > 1

    @property
    def holds_are_estimated(self) -> bool:
        return self.holds_from > 1


class Change(NamedTuple):
    """A change of a policy."""

    version: PolicyVersion
    mark: Mark


def policy_charts(span: Timespan) -> dict[str, charts.Chart]:
    """What each policy that judged anything did, by name, each on a scale of its own."""
    return _drawn(verdicts(span.since, span.until, span.step).by_time, span)


def _drawn(buckets: Iterable[PolicyBucket], span: Timespan) -> dict[str, charts.Chart]:
    columns: dict[str, dict[datetime, charts.Column]] = defaultdict(dict)
    for bucket in buckets:
        href = sessions_url(between(bucket.at, bucket.at + span.step), term("policy", bucket.policy))
        columns[bucket.policy][bucket.at] = charts.Column(
            bucket.at, _policy_words(bucket), href, _verdict_values(bucket)
        )
    return {name: charts.stacked([found.get(at) for at in span.steps]) for name, found in columns.items()}


def policy_rows(span: Timespan) -> list[PolicyRow]:
    """Policies that judged or held anything, those that judged most first."""
    by_time, figures = verdicts(span.since, span.until, span.step)
    drawn = _drawn(by_time, span)
    held = holds(span.since, span.until, span.until - span.since)[span.since]
    verdicts_from, holds_from = (
        max((each.one_in for each in found), default=1) for found in (figures.values(), held.values())
    )
    names = sorted({*figures, *held}, key=lambda name: (-figures[name].verdicts if name in figures else 0, name))
    return [
        PolicyRow(
            name=name,
            href=sessions_url(span.query, term("policy", name)),
            figures=figures.get(name),
            holds=held.get(name),
            chart=drawn.get(name, charts.Chart([], "")),
            verdicts_from=verdicts_from,
            holds_from=holds_from,
        )
        for name in names
    ]


def _verdict_values(bucket: PolicyBucket) -> list[tuple[str, float]]:
    calm = max(0, bucket.verdicts - bucket.interventions)
    return [("calm", calm), ("failed", bucket.interventions)]


def _policy_words(bucket: PolicyBucket) -> str:
    said = plural(bucket.verdicts, "verdict"), count(bucket.interventions)
    judged, intervened = (about(each, bucket.is_estimated) for each in said)
    return f"{judged}, {intervened} intervened"


_DECIDERS = {
    Decider.POLICY: ("the policy", "by-policy"),
    Decider.PERSON: ("a person", "by-person"),
    Decider.NOBODY: ("timeout or failure", "by-nobody"),
}
_SHORTEST_WAIT = 1_000.0  # µs: shorter waits are drawn as this


class WaitRow(NamedTuple):
    """How long a policy held blocks that the same party decided about; `css` is their look in the drawing."""

    decided_by: str
    css: str
    holds: Holds


class HoldTimes(NamedTuple):
    """The holds of a policy over time, by who decided, and in total. `whole` is None if none of its holds is over."""

    chart: charts.Chart
    rows: list[WaitRow]
    whole: Holds | None


def hold_times(policy: str, span: Timespan) -> HoldTimes:
    """How long a policy held blocks."""
    columns: dict[datetime, list[Waits]] = defaultdict(list)
    found = holds_of(policy, span.since, span.until, span.step)
    for each in found.by_time:
        columns[each.at].append(each)
    drawn = [_wait_column(policy, span, at, columns[at]) if at in columns else None for at in span.steps]
    chart = charts.ranges(drawn, exact, _SHORTEST_WAIT)
    by = found.by_decider
    rows = [WaitRow(*look, by[decider]) for decider, look in _DECIDERS.items() if decider in by]
    return HoldTimes(chart, rows, found.whole)


def _wait_column(policy: str, span: Timespan, at: datetime, found: list[Waits]) -> charts.Ranges:
    href = sessions_url(between(at, at + span.step), term("policy", policy))
    words = "; ".join(_wait_words(each.holds, _DECIDERS[each.decider][0]) for each in found)
    shown = [charts.Range(_DECIDERS[each.decider][1], each.holds.p50, each.holds.p95) for each in found]
    return charts.Ranges(at, words, href, shown)


def _wait_words(found: Holds, decided_by: str) -> str:
    blocks = about(plural(found.blocks, "block"), found.is_estimated)
    return f"{blocks} by {decided_by}, p50 {exact(found.p50)}, p95 {exact(found.p95)}"


def policy_changes(span: Timespan) -> list[Change]:
    """How policies were changed in that time, the newest first."""
    found = PolicyVersion.objects.filter(changed_at__gte=span.since, changed_at__lt=span.until)
    versions = found.select_related("policy", "changed_by").order_by("-changed_at", "-pk")[:_MOST_CHANGES]
    return [Change(version, _mark(version, span)) for version in versions]


def _mark(version: PolicyVersion, span: Timespan) -> Mark:
    words, at = f"{version} ({version.mode}) {version.reason}", version.changed_at
    return Mark(place(at, span), at, words, reverse("policy", args=[version.policy.name]))
