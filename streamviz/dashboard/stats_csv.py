"""The tables of the Stats page as CSV: plain figures, times in ms and UTC; what is unknown is empty."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from streamviz.dashboard.stats import Stats
from streamviz.records.queries.buckets import Bucket
from streamviz.records.queries.lint import Broken

# Where a spreadsheet would take what follows for a formula, even if it splits cells at semicolons or tabs. Such a
# spreadsheet reads a value of several lines as several rows, if it comes after a comma.
_FORMULA = re.compile(r"""(\A|[;\t\r\n][\s"]*)(?=[-=+@\t\r\n＝＋－＠])""")
_COUNTS = (
    *("streams", "running", "completed", "halted", "upstream_errors", "left", "interrupted"),
    *("input_tokens", "cached_tokens", "output_tokens", "estimated", "cost"),
)
_TIMES = (
    *("ttft_upstream_p50", "ttft_upstream_p95", "ttft_client_p50", "ttft_client_p95"),
    *("itl_p50", "itl_p95", "tpot_p50", "tpot_p95"),
)
TABLES = ("group", "time", "policy", "tool", "lint", "changes")


def as_csv(stats: Stats, lint: Sequence[Broken], table: str) -> str:
    """One of TABLES. If streams stand for others, `…from_one_in` says for how many each."""
    readers = {"group": _groups, "time": _steps, "policy": _policies, "tool": _tools, "changes": _changes}
    return csv_of(_lint(lint) if table == "lint" else readers[table](stats))


def csv_of(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, without any value that is a formula."""
    out = StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([_plain(value) for value in row] for row in rows)
    return out.getvalue()


def _plain(value: object) -> object:
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def _head(first: str) -> list[object]:
    return [first, *_COUNTS, *(f"{name}_ms" for name in _TIMES), "times_from_one_in"]


def _figures(bucket: Bucket, one_in: int) -> list[object]:
    times = (getattr(bucket, name) for name in _TIMES)
    return [*(getattr(bucket, name) for name in _COUNTS), *(None if at is None else at / 1000 for at in times), one_in]


def _groups(stats: Stats) -> Iterator[list[object]]:
    """Sessions may have the same name: `id` tells them apart."""
    yield [*_head("name"), "id"]
    for row in stats.groups:
        yield [row.name, *_figures(row.bucket, row.timed), row.bucket.group]


def _steps(stats: Stats) -> Iterator[list[object]]:
    yield _head("from")
    for row in stats.rows:
        yield [row.bucket.at.isoformat(), *_figures(row.bucket, stats.one_in)]


def _policies(stats: Stats) -> Iterator[list[object]]:
    yield [
        *("policy", "verdicts", "interventions", "would", "failures", "held", "hold_p50_ms", "hold_p95_ms"),
        *("verdicts_from_one_in", "holds_from_one_in"),
    ]
    for row in stats.policies:
        done, held = row.figures, row.holds
        counts = (done.verdicts, done.interventions, done.would, done.failures) if done else (0, 0, 0, 0)
        holds = (held.blocks, held.p50 / 1000, held.p95 / 1000) if held else (0, None, None)
        yield [row.name, *counts, *holds, row.verdicts_from, row.holds_from]


def _tools(stats: Stats) -> Iterator[list[object]]:
    yield ["tool", "calls", "streams", "output_tokens", "cost", "from_one_in"]
    for tool in stats.tools:
        yield [*tool, stats.tools_from]


def _changes(stats: Stats) -> Iterator[list[object]]:
    yield ["changed", "policy", "version", "mode", "by", "reason"]
    for each in stats.changes:
        version = each.version
        who = version.changed_by.get_username() if version.changed_by else ""
        yield [version.changed_at.isoformat(), version.policy.name, version.number, version.mode, who, version.reason]


def _lint(lint: Sequence[Broken]) -> Iterator[list[object]]:
    yield list(Broken._fields)
    for each in lint:
        yield list(each)
