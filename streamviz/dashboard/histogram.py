"""How many streams there were at what time, shown above the list of sessions."""

from typing import NamedTuple

from streamviz.dashboard import charts
from streamviz.dashboard.links import sessions_url
from streamviz.dashboard.timespans import Timespan, between
from streamviz.live.presentation.figures import count, plural
from streamviz.records.queries.buckets import Bucket
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.rows import limited
from streamviz.records.queries.statistics import by_time


class Histogram(NamedTuple):
    """The drawing, and the same as rows: when, how many, how many of them failed, and a link to them.

    Everything is counted from one stream in `one_in`.
    """

    chart: charts.Chart
    rows: list[tuple[Bucket, int, str]]
    streams: int
    one_in: int


def histogram_of(filters: Filters, span: Timespan, written: str) -> Histogram:
    """A histogram of the matching streams in this span. `written` is the filter, for links. Raises SearchTooBroad."""
    with limited():
        counted = by_time(filters, span.step, has_times=False, may_estimate=True)
    about = "about " if counted.counted > 1 else ""
    rows = [
        (bucket, failed_of(bucket), sessions_url(between(bucket.at, bucket.at + span.step), written))
        for bucket in counted.buckets
    ]
    columns = {
        bucket.at: charts.Column(bucket.at, f"{about}{outcome_words(bucket)}", href, outcome_values(bucket))
        for bucket, _, href in rows
    }
    chart = charts.stacked([columns.get(at) for at in span.steps], count)
    return Histogram(chart, rows, sum(bucket.streams for bucket in counted.buckets), counted.counted)


def failed_of(bucket: Bucket) -> int:
    """Streams that something went wrong with. Those that a policy halted are not among them."""
    return bucket.upstream_errors + bucket.interrupted


def outcome_values(bucket: Bucket) -> list[tuple[str, float]]:
    """The streams by how they ended, each with the name of its look in a bar."""
    failed = failed_of(bucket) + bucket.halted
    calm = bucket.streams - bucket.running - bucket.left - failed
    return [("calm", calm), ("running", bucket.running), ("left", bucket.left), ("failed", failed)]


def outcome_words(bucket: Bucket) -> str:
    """The same in words, without those that did not occur."""
    parts = {
        "completed": bucket.completed,
        "running": bucket.running,
        "halted": bucket.halted,
        "upstream error" if bucket.upstream_errors == 1 else "upstream errors": bucket.upstream_errors,
        "client left": bucket.left,
        "interrupted": bucket.interrupted,
    }
    return f"{plural(bucket.streams, 'stream')}: {', '.join(f'{n:,} {word}' for word, n in parts.items() if n)}"
