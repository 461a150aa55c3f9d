"""What the Stats page shows: figures of a time span, drawn over it, by group and by policy."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from streamviz.dashboard import charts
from streamviz.dashboard.compared_figures import Compared, Figure, headline, other_total
from streamviz.dashboard.histogram import failed_of, outcome_values, outcome_words
from streamviz.dashboard.links import sessions_url, term
from streamviz.dashboard.policy_figures import Change, PolicyRow, policy_changes, policy_rows
from streamviz.dashboard.stats_drawings import Drawn, Row, drawings_of, drawn_latencies, drawn_stalls
from streamviz.dashboard.time_axis import Mark
from streamviz.dashboard.timespans import Timespan, between
from streamviz.live.presentation.figures import estimates
from streamviz.live.presentation.text import one_line
from streamviz.records.queries.buckets import Bucket
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.grouping import Grouping
from streamviz.records.queries.largest import LARGEST, Largest, largest
from streamviz.records.queries.names import sessions_by_id
from streamviz.records.queries.samples import one_in_costly
from streamviz.records.queries.statistics import Statistics, by_group, by_time
from streamviz.records.queries.tool_figures import ToolFigures, tools

GROUPINGS = {
    "model": Grouping.MODEL,
    "provider": Grouping.PROVIDER,
    "key": Grouping.KEY,
    "session": Grouping.SESSION,
}
# Tools have a table of their own, as a stream may call several.
TOOL = "tool"
MOST_GROUPS = 20
# CSV tables for which streams are not counted.
_NOT_OF_STREAMS = ("policy", "changes", "lint")
_NAME_CHARACTERS = 80


class GroupRow(NamedTuple):
    """A group's figures for the whole time, with times from one stream in `timed`. `bucket.group` identifies the group,
    `name` is what it is called; `known_as` tells apart sessions that are called alike."""

    name: str
    href: str
    bucket: Bucket
    failed: int
    chart: charts.Chart
    timed: int
    known_as: str


class Stats(NamedTuple):
    """All of the page. Times are taken from one stream in `one_in`, the figures of tools from one in `tools_from`."""

    total: Bucket | None
    one_in: int
    drawn: list[Drawn]
    rows: list[Row]
    groups: list[GroupRow]
    more_groups: int
    chosen_from: int
    policies: list[PolicyRow]
    changes: list[Change]
    tools: list[ToolFigures]
    tools_from: int
    headline: list[Figure]

    @property
    def estimates(self) -> str:
        """Which of all these figures are estimated."""
        rows = self.policies
        verdicts = max((row.figures.one_in for row in rows if row.figures), default=1)
        holds = max((row.holds.one_in for row in rows if row.holds), default=1)
        others = {"tools": self.tools_from, "which sessions are the largest": self.chosen_from}
        return estimates({"times": self.one_in, "verdicts": verdicts, "holds": holds, **others})

    @property
    def marks(self) -> list[Mark]:
        """The changes of policies, for the drawings."""
        return [change.mark for change in self.changes]


def stats_of(span: Timespan, group: str, compared: Compared, by: str, only: str) -> Stats:
    """The statistics of a time span, by one of GROUPINGS or by TOOL, and of what they are compared with. If there are
    very many groups, it has those with the most of one of LARGEST, or of streams. If `only` one of the CSV tables is
    wanted, what others show may be missing."""
    wanted = Filters(since=span.since, until=span.until, models=compared.models)
    timed = by_time(wanted, span.step) if only not in _NOT_OF_STREAMS else Statistics([], None, 1, 1)
    written = term("model", compared.model) if compared.model else ""
    rows = [_row(bucket, span, written) for bucket in timed.buckets]
    by = by if by in LARGEST else "streams"
    tools_from = one_in_costly(timed.total.streams) if timed.total and group == TOOL else 1
    has_groups = group != TOOL and only in ("", "group")
    among = timed.total.streams if timed.total and not compared.models else None
    found = largest(wanted, GROUPINGS[group], MOST_GROUPS, by, among) if has_groups else Largest([], 0)
    return Stats(
        total=timed.total,
        one_in=timed.timed,
        drawn=[
            *drawings_of(timed.total, rows, span),
            drawn_latencies(wanted, span, timed, written),
            drawn_stalls(compared.models, span, written),
        ]
        if timed.total and not only
        else [],
        rows=rows,
        groups=_group_rows(wanted, span, group, found.names, written) if found.names else [],
        more_groups=max(0, (found.groups or 0) - MOST_GROUPS),
        chosen_from=found.one_in,
        policies=policy_rows(span) if only in ("", "policy") else [],
        changes=policy_changes(span) if only in ("", "changes") else [],
        tools=tools(wanted, MOST_GROUPS, tools_from) if group == TOOL and only in ("", "tool") else [],
        tools_from=tools_from,
        headline=headline(timed.total, other_total(span, compared), compared.word) if timed.total and not only else [],
    )


def _row(bucket: Bucket, span: Timespan, written: str) -> Row:
    href = sessions_url(between(bucket.at, bucket.at + span.step), written)
    return Row(href, bucket, failed_of(bucket))


def _of_groups(wanted: Filters, grouping: Grouping, names: tuple[str, ...]) -> Filters:
    """The same filters, for these groups alone."""
    match grouping:
        case Grouping.PROVIDER:
            return replace(wanted, providers=names)
        case Grouping.KEY:
            return replace(wanted, keys=names)
        case Grouping.SESSION:
            return replace(wanted, sessions=names)
        case _:
            return replace(wanted, models=names)


def _group_rows(wanted: Filters, span: Timespan, group: str, names: Sequence[str], written: str) -> list[GroupRow]:
    """Each group with its own small drawing, all on one scale."""

    def filtered(name: str) -> str:
        own = term(group, name)
        return own if group == "model" else f"{written} {own}".strip()

    wanted = _of_groups(wanted, GROUPINGS[group], tuple(names))
    found = by_group(wanted, span.since, span.until, span.step, GROUPINGS[group])
    totals = {bucket.group: bucket for bucket in found.whole}
    columns: dict[str, dict[datetime, charts.Column]] = defaultdict(dict)
    for bucket in found.by_time:
        href = sessions_url(between(bucket.at, bucket.at + span.step), filtered(bucket.group))
        drawn = charts.Column(bucket.at, outcome_words(bucket), href, outcome_values(bucket))
        columns[bucket.group][bucket.at] = drawn
    full = charts.highest([each for steps in columns.values() for each in steps.values()])
    sessions = sessions_by_id(names) if group == "session" else {}
    return [
        GroupRow(
            name=one_line(sessions[name].title if name in sessions else name, _NAME_CHARACTERS),
            href=sessions_url(span.query, filtered(name)),
            bucket=totals[name],
            failed=failed_of(totals[name]),
            chart=charts.stacked([columns[name].get(at) for at in span.steps], full=full),
            timed=found.timed,
            known_as=sessions[name].known_as if name in sessions and sessions[name].label else "",
        )
        for name in names
        if name in totals
    ]
