"""The figures of a time span beside those of another: what changed, and by how much."""

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from streamviz.dashboard.histogram import failed_of
from streamviz.dashboard.timespans import Timespan
from streamviz.live.presentation.durations import exact
from streamviz.live.presentation.figures import UNKNOWN, about, count, money
from streamviz.live.presentation.text import one_line
from streamviz.records.queries.buckets import Bucket
from streamviz.records.queries.filters import Filters
from streamviz.records.queries.statistics import by_time

# What a span can be compared with, and how far back that is: None stands for the span's own length.
COMPARED: dict[str, tuple[str, timedelta | None]] = {
    "before": ("the previous period", None),
    "week": ("a week earlier", timedelta(days=7)),
    "nothing": ("nothing", None),
}
USUAL = "before"
# Changes from here on are shown in bold: a tenth, or half a percentage point of a share.
_BIG, _BIG_POINTS = 0.1, 0.5
_NAME_CHARACTERS = 24


class Figure(NamedTuple):
    """A figure, how it changed and what it was; the last two are empty if there is nothing to compare it with."""

    name: str
    value: str
    change: str = ""
    is_big: bool = False
    was: str = ""


_Read = Callable[[Bucket], float | None]
_Show = Callable[[float], str]


def _share(value: float) -> str:
    return f"{value:.1f}%"


def _cached(bucket: Bucket) -> float | None:
    # Estimates know nothing of caches.
    is_unknown = bucket.estimated and bucket.estimated >= bucket.reported
    return 100 * (bucket.cached_tokens or 0) / bucket.input_tokens if bucket.input_tokens and not is_unknown else None


def _failed(bucket: Bucket) -> float | None:
    return 100 * failed_of(bucket) / bucket.streams if bucket.streams else None


_FIGURES: list[tuple[str, _Read, _Show]] = [
    ("Streams", lambda each: each.streams, count),
    ("Failed", _failed, _share),
    ("Tokens in", lambda each: each.input_tokens, count),
    ("Cached", _cached, _share),
    ("Tokens out", lambda each: each.output_tokens, count),
    ("Cost", lambda each: each.cost, money),
    ("TTFT client p95", lambda each: each.ttft_client_p95, exact),
    ("ITL p95", lambda each: each.itl_p95, exact),
    ("Halted", lambda each: each.halted, count),
]
# Figures that are estimates if the tokens are.
_OF_TOKENS = {"Tokens in", "Cached", "Tokens out", "Cost"}


class Compared(NamedTuple):
    """What a page of figures is compared with: another time, one of COMPARED, or, if `against` names a model, that
    model in the same time. `model` is the one that the figures are of; empty means all."""

    time: str = "nothing"
    model: str = ""
    against: str = ""

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model,) if self.model else ()

    @property
    def word(self) -> str:
        """The word after a figure of the other side."""
        return one_line(self.against, _NAME_CHARACTERS) if self.against else "before"


def headline(total: Bucket, other: Bucket | None, word: str = "before") -> list[Figure]:
    """The figures of a time, compared with those of another if there are any; `word` says which other."""
    figures = [figure_of(name, read(total), other and read(other), show, word) for name, read, show in _FIGURES]
    return [_marked(each, total, other) if each.name in _OF_TOKENS else each for each in figures]


def _marked(figure: Figure, total: Bucket, other: Bucket | None) -> Figure:
    was = about(figure.was, other.estimated) if other and figure.was else figure.was
    return figure._replace(value=about(figure.value, total.estimated), was=was)


def other_total(span: Timespan, compared: Compared) -> Bucket | None:
    """The totals of what a span is compared with; None if there are none."""
    length = span.until - span.since
    if compared.against:
        wanted = Filters(since=span.since, until=span.until, models=(compared.against,))
        return by_time(wanted, length, origin=span.since).total
    if compared.time == "nothing":
        return None
    since = span.since - (COMPARED[compared.time][1] or length)
    return by_time(Filters(since=since, until=since + length, models=compared.models), length, origin=since).total


def figure_of(name: str, value: float | None, was: float | None, show: _Show = count, word: str = "before") -> Figure:
    """A figure with what it was before, or is elsewhere, as `word` says; None is unknown."""
    shown = UNKNOWN if value is None else show(value)
    if was is None:
        return Figure(name, shown)
    change, is_big = _change(value, was, is_share=show is _share)
    return Figure(name, shown, change, is_big, f"{show(was)} {word}")


def _change(value: float | None, was: float, *, is_share: bool) -> tuple[str, bool]:
    if value is None:
        return "", False
    if is_share:
        points = value - was
        return _signed(points, "pt"), abs(points) >= _BIG_POINTS
    if not was:
        return "", False
    part = value / was - 1
    return f"{_sign(part)}{abs(part) * 100:,.0f}%", abs(part) >= _BIG


def _signed(points: float, unit: str) -> str:
    return f"{_sign(points)}{abs(points):.1f} {unit}"


def _sign(value: float) -> str:
    return "\N{MINUS SIGN}" if value < 0 else "+"
