"""The axis of bars over time: a few round times along it, and where any time is on it."""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from streamviz.dashboard.charts import percent
from streamviz.dashboard.chosen_timespans import ORIGIN
from streamviz.dashboard.timespans import Timespan

_MARKS = 6.5
_INTERVALS = [
    *(timedelta(seconds=n) for n in (1, 5, 10, 30)),
    *(timedelta(minutes=n) for n in (1, 2, 5, 10, 15, 30)),
    *(timedelta(hours=n) for n in (1, 2, 4, 6, 12)),
    *(timedelta(days=n) for n in (1, 2, 7, 14, 28, 91, 182, 364, 1820)),
]
_LAST_START = 88.0  # per cent of the width: later marks have their words before them, not after
_SHOWN = {"second": "%H:%M:%S", "time": "%H:%M", "day": "%d %b", "month": "%b %Y"}


class Mark(NamedTuple):
    """A time. `words` say what happened then; for marks of the axis they are the time itself, which `shows` lets a
    script say in another time zone. `is_late` says that there is no room for the words after the mark."""

    x: str
    at: datetime
    words: str
    href: str = ""
    shows: str = ""
    is_late: bool = False


def axis(span: Timespan) -> list[Mark]:
    """A few round times along the axis."""
    shows = "second" if span.step < timedelta(minutes=1) else "time"
    if span.until - span.since > timedelta(hours=50):
        shows = "day" if span.until - span.since < timedelta(days=360) else "month"
    every = _round_interval(span)
    first = span.since + (ORIGIN - span.since) % every
    moments = [first + n * every for n in range(math.ceil((span.until - first) / every))]
    return [
        Mark(place(at, span), at, at.strftime(_SHOWN[shows]), shows=shows, is_late=_share(at, span) > _LAST_START)
        for at in moments
    ]


def _round_interval(span: Timespan) -> timedelta:
    return next((each for each in _INTERVALS if (span.until - span.since) / each <= _MARKS), _INTERVALS[-1])


def place(at: datetime, span: Timespan) -> str:
    """Where a time is on the axis."""
    return percent(_share(at, span))


def _share(at: datetime, span: Timespan) -> float:
    """How much of the span has passed at a time, in per cent."""
    return (at - span.since) / (span.until - span.since) * 100
