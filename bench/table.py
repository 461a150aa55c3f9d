"""The figures as tables in markdown."""

from collections.abc import Iterator

from bench.rounds import LOADS, Figures, Load, Measured

OURS, THEIRS, DIRECT = "streamviz", "LiteLLM proxy", "direct"
HEADINGS = (
    "load",
    "gateway",
    "TTFT added, p50",
    "p99",
    "latency per chunk added, p50",
    "p99",
    "chunks/s",
    "CPU µs per chunk",
    "with its helpers",
)
_COLUMNS = ("added_ttft_p50", "added_ttft_p99", "added_latency_p50", "added_latency_p99")


def tables(measured: Measured) -> str:
    """All figures, then the ratios. Times are in ms."""
    return "\n".join([*_table(HEADINGS, _figures(measured)), "", *_table(RATIO_HEADINGS, _ratios(measured))])


def _figures(measured: Measured) -> Iterator[list[str]]:
    for load in LOADS:
        for name in (DIRECT, OURS, THEIRS):
            yield [_words(load), name, *_cells(measured[name, load], load, is_direct=name == DIRECT)]


def _cells(figures: Figures, load: Load, *, is_direct: bool) -> Iterator[str]:
    for column in _COLUMNS:
        yield _milliseconds(figures[column.removeprefix("added_") if is_direct else column], is_direct)
    yield f"{figures['chunks_s'] or 0:,.0f}"
    for column in ("cpu", "cpu_all"):
        yield "" if is_direct else f"{figures[column] or 0:,.1f}"


def _milliseconds(value: float | None, is_direct: bool) -> str:
    if value is None:
        return ""
    text = f"{value / 1000:,.1f}" if abs(value) >= 10_000 else f"{value / 1000:,.2f}"
    return f"({text})" if is_direct else text


RATIO_HEADINGS = (
    "load",
    "chunks/s, times the LiteLLM proxy's",
    "chunks/s, part of direct",
    "TTFT p50, part of the LiteLLM proxy's",
    "latency per chunk p99, part of the LiteLLM proxy's",
    "CPU per chunk, part of the LiteLLM proxy's",
)


def _ratios(measured: Measured) -> Iterator[list[str]]:
    for load in LOADS:
        ours, theirs, direct = (measured[name, load] for name in (OURS, THEIRS, DIRECT))
        yield [
            _words(load),
            _ratio(ours, theirs, "chunks_s", ".1f"),
            _ratio(ours, direct, "chunks_s", ".2f"),
            _ratio(ours, theirs, "ttft_p50", ".3f"),
            _ratio(ours, theirs, "latency_p99", ".3f"),
            _ratio(ours, theirs, "cpu", ".3f"),
        ]


def _ratio(ours: Figures, other: Figures, name: str, form: str) -> str:
    top, bottom = ours[name], other[name]
    return "" if top is None or not bottom else format(top / bottom, form)


def _words(load: Load) -> str:
    return f"{load.streams} {load.kind}"


def _table(headings: tuple[str, ...], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * 2}{'---:|' * (len(headings) - 2)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
