"""The time span that a URL asks for, in steps that a drawing has room for."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from streamviz.dashboard.timespans import ALL, RANGES, Timespan

USUAL = "24h"
MOST_STEPS = 48
# A Monday, so that steps of days and weeks begin where people expect them to.
ORIGIN = datetime(2024, 1, 1, tzinfo=UTC)
_STEPS = [
    *(timedelta(seconds=n) for n in (1, 5, 15, 30)),
    *(timedelta(minutes=n) for n in (1, 2, 5, 10, 30)),
    *(timedelta(hours=n) for n in (1, 3, 6, 12)),
    *(timedelta(days=n) for n in (1, 7, 28, 364)),
]


def chosen(query: Mapping[str, str], now: datetime, oldest: datetime | None, usual: str = USUAL) -> Timespan:
    """The span that a URL names, or the usual one. `oldest` is where the span of all time begins."""
    since, until = _moment(query.get("since", "")), _moment(query.get("until", ""))
    if since and until and since < until:
        return _spanning("", since, until)
    name = query.get("range", "")
    name = name if name in {ALL, *RANGES} else usual
    if name == ALL:
        return _spanning(ALL, min(oldest or now, now), now)
    return _spanning(name, now - RANGES[name], now)


def _spanning(name: str, since: datetime, until: datetime) -> Timespan:
    until = max(until, since + timedelta(microseconds=1))
    step = next((step for step in _STEPS if (until - since) / step <= MOST_STEPS), _STEPS[-1])
    # The last step is the one that contains `until`, or ends at it.
    end = _down(until - timedelta(microseconds=1), step) + step
    return Timespan(name, _down(since, step), end, step)


def _down(at: datetime, step: timedelta) -> datetime:
    return at - (at - ORIGIN) % step


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    is_near = found.tzinfo is not None and 2000 <= found.year <= 2200
    return found.astimezone(UTC) if is_near else None
