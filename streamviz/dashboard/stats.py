"""What the Stats page shows: figures of a stretch of time, drawn over it, by group, and by policy."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from streamviz.dashboard import charts
from streamviz.dashboard.comparing import Compared, Figure, headline, other_total
from streamviz.dashboard.histogram import failed_of, outcome_values, outcome_words
from streamviz.dashboard.links import sessions_url, term
from streamviz.dashboard.policy_figures import Change, PolicyRow, policy_changes, policy_rows
from streamviz.dashboard.time_axis import Mark
from streamviz.dashboard.timespans import Timespan, between
from streamviz.live.presentation.text import about, count, estimates, exact, money, one_line, plural
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.grouping import Grouping
from streamviz.records.queries.largest import LARGEST, Largest, largest
from streamviz.records.queries.latencies import BANDS, ToolFigures, latencies, tools
from streamviz.records.queries.names import session_titles
from streamviz.records.queries.sources import one_in_costly
from streamviz.records.queries.stalls import Stalls, stalls_by_time
from streamviz.records.queries.statistics import Bucket, Statistics, by_group, by_time

GROUPINGS = {
    "model": Grouping.MODEL,
    "provider": Grouping.PROVIDER,
    "key": Grouping.KEY,
    "session": Grouping.SESSION,
}
# Has a table of its own: a stream may call several.
TOOL = "tool"
MOST_GROUPS = 20
# Tables of CSV for which streams are not counted.
_NOT_OF_STREAMS = ("policy", "changes", "lint")
_NAME_CHARACTERS = 80


class Drawn(NamedTuple):
    """A drawing with its title, what it comes to in all, and a word on what is seen."""

    title: str
    sum: str
    note: str
    chart: charts.Chart


class Row(NamedTuple):
    """A step's figures, and a link to its streams."""

    href: str
    bucket: Bucket
    failed: int


class GroupRow(NamedTuple):
    """A group's figures of the whole time, with times of one stream in `timed`. `bucket.group` tells it from others,
    `name` is what it is called."""

    name: str
    href: str
    bucket: Bucket
    failed: int
    chart: charts.Chart
    timed: int


class Stats(NamedTuple):
    """All of the page. Times are taken from one stream in `one_in`, what tools came to from one in `tools_from`."""

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
        """What of all this is estimated."""
        rows = self.policies
        verdicts = max((row.figures.one_in for row in rows if row.figures), default=1)
        holds = max((row.holds.one_in for row in rows if row.holds), default=1)
        others = {"tools": self.tools_from, "which sessions are the largest": self.chosen_from}
        return estimates({"times": self.one_in, "verdicts": verdicts, "holds": holds, **others})

    @property
    def marks(self) -> list[Mark]:
        """The changes of policy, for the drawings."""
        return [change.mark for change in self.changes]


def stats_of(span: Timespan, group: str, compared: Compared, by: str = "", only: str = "") -> Stats:
    """The statistics of a stretch of time, by one of GROUPINGS or by TOOL, beside what they are compared with. Of very
    many groups there are those that have most of one of LARGEST, or of streams. If `only` one of the CSV tables is
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
            *_drawn(timed.total, rows, span),
            _latencies(wanted, span, timed, written),
            _stalled(compared.models, span, written),
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


def _drawn(total: Bucket, rows: Sequence[Row], span: Timespan) -> list[Drawn]:
    by_step = {row.bucket.at: row for row in rows}
    in_order = [by_step.get(at) for at in span.steps]
    tokens = about(f"{count(total.output_tokens)} out, {count(total.input_tokens)} in", _is_about(total))
    return [
        Drawn("Streams", count(total.streams), "", _bars(in_order, outcome_values, outcome_words, _whole)),
        Drawn("Tokens", tokens, _token_note(total), _bars(in_order, _token_values, _token_words, _whole)),
        Drawn(
            "Cost", _cost_words(total), _known(total.priced, total), _bars(in_order, _cost_values, _cost_words, money)
        ),
        *(
            Drawn(title, _both(p50(total), p95(total)), note, _spreads(title, in_order, p50, p95))
            for title, note, p50, p95 in _TIMES
        ),
    ]


def _known(number: int, total: Bucket) -> str:
    """On how many streams a sum rests, unless it is all that are over."""
    over = total.streams - total.running
    return "" if number >= over else f"from {number:,} of {over:,} streams"


def _token_note(total: Bucket) -> str:
    """What part of the input came from a cache, and of how many streams all this is told or estimated."""
    cached = f"{count(total.cached_tokens)} of in cached" if total.cached_tokens else ""
    estimated = f"{total.estimated:,} estimated" if total.estimated else ""
    return ", ".join(note for note in (cached, _known(total.reported, total), estimated) if note)


def _is_about(bucket: Bucket) -> bool:
    return bucket.estimated > 0


_Figure = Callable[[Bucket], float | None]
_TIMES: list[tuple[str, str, _Figure, _Figure]] = [
    ("TTFT upstream", "", lambda each: each.ttft_upstream_p50, lambda each: each.ttft_upstream_p95),
    ("TTFT client", "", lambda each: each.ttft_client_p50, lambda each: each.ttft_client_p95),
    ("ITL", "of stream medians", lambda each: each.itl_p50, lambda each: each.itl_p95),
    ("TPOT", "", lambda each: each.tpot_p50, lambda each: each.tpot_p95),
]


def _both(p50: float | None, p95: float | None) -> str:
    return f"p50 {_exact(p50)}, p95 {_exact(p95)}"


def _exact(microseconds: float | None) -> str:
    return exact(None if microseconds is None else int(microseconds))


def _bars(
    rows: Sequence[Row | None],
    values: Callable[[Bucket], list[tuple[str, float]]],
    words: Callable[[Bucket], str],
    shown: Callable[[float], str],
) -> charts.Chart:
    columns = [row and charts.Column(row.bucket.at, words(row.bucket), row.href, values(row.bucket)) for row in rows]
    return charts.stacked(columns, shown)


def _whole(value: float) -> str:
    return count(int(value))


def _token_values(bucket: Bucket) -> list[tuple[str, float]]:
    cached = bucket.cached_tokens or 0
    return [("out", bucket.output_tokens or 0), ("in", max(0, (bucket.input_tokens or 0) - cached)), ("cached", cached)]


def _token_words(bucket: Bucket) -> str:
    cached = f", {count(bucket.cached_tokens)} of it cached" if bucket.cached_tokens else ""
    words = f"{count(bucket.output_tokens)} tokens out, {count(bucket.input_tokens)} in{cached}"
    return about(words, _is_about(bucket))


def _cost_values(bucket: Bucket) -> list[tuple[str, float]]:
    return [("calm", bucket.cost or 0)]


def _cost_words(bucket: Bucket) -> str:
    return about(money(bucket.cost), _is_about(bucket))


def _spreads(title: str, rows: Sequence[Row | None], p50: _Figure, p95: _Figure) -> charts.Chart:
    def spread(row: Row) -> charts.Spread:
        low, high = p50(row.bucket), p95(row.bucket)
        return charts.Spread(row.bucket.at, f"{title} {_both(low, high)}", row.href, low, high)

    columns = [row and spread(row) for row in rows]
    return charts.spreads(columns, _exact)


def _latencies(wanted: Filters, span: Timespan, timed: Statistics, written: str) -> Drawn:
    """Each step's TTFT as clients had it: the median hides what is in two heaps."""
    found: dict[datetime, dict[int, int]] = defaultdict(dict)
    for cell in latencies(wanted, span.step, timed.timed):
        found[cell.at][cell.band] = cell.streams
    columns = [_latency_column(at, found[at], span, written) if at in found else None for at in span.steps]
    number = sum(number for bands in found.values() for number in bands.values())
    return Drawn("TTFT client, all", plural(number, "stream"), "", charts.heat(columns, _band_words))


def _stalled(models: tuple[str, ...], span: Timespan, written: str) -> Drawn:
    """How often streams stood still, by who kept them waiting."""
    found = {each.at: each for each in stalls_by_time(span.since, span.until, span.step, models)}
    columns = [_stall_column(found[at], span, written) if at in found else None for at in span.steps]
    times = sum(each.times for each in found.values())
    return Drawn("Stalls", count(times), "of a second and longer", charts.stacked(columns, _whole))


def _stall_column(each: Stalls, span: Timespan, written: str) -> charts.Column:
    told = f"upstream silent {each.upstream:,}, held {each.held:,}, client not reading {each.client:,}"
    href = sessions_url(between(each.at, each.at + span.step), written)
    values = [("calm", each.upstream), ("held", each.held), ("left", each.client)]
    return charts.Column(each.at, told, href, values)


def _latency_column(at: datetime, bands: dict[int, int], span: Timespan, written: str) -> charts.Bands:
    told = ", ".join(f"{number:,} from {_band_words(band)}" for band, number in sorted(bands.items()))
    return charts.Bands(at, told, sessions_url(between(at, at + span.step), written), bands)


def _band_words(band: int) -> str:
    """Where a band begins."""
    return exact(round(1_000 * 10 ** (band / BANDS)))


def _of_groups(wanted: Filters, grouping: Grouping, names: tuple[str, ...]) -> Filters:
    """The same of these groups alone."""
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
    titles = session_titles(names) if group == "session" else {}
    return [
        GroupRow(
            name=one_line(titles.get(name, name), _NAME_CHARACTERS),
            href=sessions_url(span.query, filtered(name)),
            bucket=totals[name],
            failed=failed_of(totals[name]),
            chart=charts.stacked([columns[name].get(at) for at in span.steps], full=full),
            timed=found.timed,
        )
        for name in names
        if name in totals
    ]
