"""The drawings of the Stats page: figures of streams, step by step over a time span."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from streamviz.dashboard import charts
from streamviz.dashboard.histogram import outcome_values, outcome_words
from streamviz.dashboard.links import sessions_url
from streamviz.dashboard.timespans import Timespan, between
from streamviz.live.presentation.durations import exact
from streamviz.live.presentation.figures import about, count, money, plural
from streamviz.records.queries.buckets import Bucket
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.latencies import BANDS, latencies
from streamviz.records.queries.stalls import Stalls, stalls_by_time
from streamviz.records.queries.statistics import Statistics


class Drawn(NamedTuple):
    """A drawing with its title, its total, and a note on what it shows."""

    title: str
    sum: str
    note: str
    chart: charts.Chart


class Row(NamedTuple):
    """A step's figures, and a link to its streams."""

    href: str
    bucket: Bucket
    failed: int


def drawings_of(total: Bucket, rows: Sequence[Row], span: Timespan) -> list[Drawn]:
    """Each step's streams, tokens, cost and times, from its row."""
    by_step = {row.bucket.at: row for row in rows}
    in_order = [by_step.get(at) for at in span.steps]
    tokens = about(f"{count(total.output_tokens)} out, {count(total.input_tokens)} in", _is_about(total))
    return [
        Drawn("Streams", count(total.streams), "", _bars(in_order, outcome_values, outcome_words, count)),
        Drawn("Tokens", tokens, _token_note(total), _bars(in_order, _token_values, _token_words, count)),
        Drawn(
            "Cost", _cost_words(total), _known(total.priced, total), _bars(in_order, _cost_values, _cost_words, money)
        ),
        *(
            Drawn(title, _both(p50(total), p95(total)), note, _spreads(title, in_order, p50, p95))
            for title, note, p50, p95 in _TIMES
        ),
    ]


def _known(number: int, total: Bucket) -> str:
    """How many streams a total is based on, unless it is all that are over."""
    over = total.streams - total.running
    return "" if number >= over else f"from {number:,} of {over:,} streams"


def _token_note(total: Bucket) -> str:
    """What part of the input came from a cache, and of how many streams the tokens are known or estimated."""
    cached = f"{count(total.cached_tokens)} of the input cached" if total.cached_tokens else ""
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
    return f"p50 {exact(p50)}, p95 {exact(p95)}"


def _bars(
    rows: Sequence[Row | None],
    values: Callable[[Bucket], list[tuple[str, float]]],
    words: Callable[[Bucket], str],
    shown: Callable[[float], str],
) -> charts.Chart:
    columns = [row and charts.Column(row.bucket.at, words(row.bucket), row.href, values(row.bucket)) for row in rows]
    return charts.stacked(columns, shown)


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
    return charts.spreads(columns, exact)


def drawn_latencies(wanted: Filters, span: Timespan, timed: Statistics, written: str) -> Drawn:
    """Each step's TTFT as clients had it, for all streams: a median hides two separate clusters."""
    found: dict[datetime, dict[int, int]] = defaultdict(dict)
    for cell in latencies(wanted, span.step, timed.timed):
        found[cell.at][cell.band] = cell.streams
    columns = [_latency_column(at, found[at], span, written) if at in found else None for at in span.steps]
    number = sum(number for bands in found.values() for number in bands.values())
    return Drawn("TTFT client, all", plural(number, "stream"), "", charts.heat(columns, _band_words))


def drawn_stalls(models: tuple[str, ...], span: Timespan, written: str) -> Drawn:
    """How often streams stalled, by who kept them waiting."""
    found = {each.at: each for each in stalls_by_time(span.since, span.until, span.step, models)}
    columns = [_stall_column(found[at], span, written) if at in found else None for at in span.steps]
    times = sum(each.times for each in found.values())
    return Drawn("Stalls", count(times), "of a second and longer", charts.stacked(columns, count))


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
    return exact(1_000 * 10 ** (band / BANDS))
