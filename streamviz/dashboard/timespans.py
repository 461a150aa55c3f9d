"""A stretch of time that a person chose, as it is in a URL: `?range=7d`, or `?since=…&until=…` for a drawing's bar."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

RANGES = {
    "1h": ("1 h", timedelta(hours=1)),
    "24h": ("24 h", timedelta(days=1)),
    "7d": ("7 d", timedelta(days=7)),
    "30d": ("30 d", timedelta(days=30)),
}
_WORDS = {"1h": "hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}
ALL = "all"
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


class Timespan(NamedTuple):
    """From `since` until before `until`, whole steps of ORIGIN's. `name` is one of RANGES or ALL; empty for another."""

    name: str
    since: datetime
    until: datetime
    step: timedelta

    @property
    def query(self) -> dict[str, str]:
        """The same in a URL."""
        return {"range": self.name} if self.name else between(self.since, self.until)

    @property
    def words(self) -> str:
        if self.name == ALL:
            return "in all time"
        if self.name:
            return f"in the last {_WORDS[self.name]}"
        is_one_day = self.since.date() == (self.until - timedelta(microseconds=1)).date()
        return f"from {self.since:%d %b %H:%M:%S} to {self.until:{'%H:%M:%S' if is_one_day else '%d %b %H:%M:%S'}} UTC"

    @property
    def steps(self) -> list[datetime]:
        """When each step begins."""
        return [self.since + n * self.step for n in range((self.until - self.since) // self.step)]


def between(since: datetime, until: datetime) -> dict[str, str]:
    """Two moments in a URL, to the second."""
    return {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"}


def chosen(query: Mapping[str, str], now: datetime, oldest: datetime | None, usual: str = USUAL) -> Timespan:
    """What a URL says; what is no stretch of time is the usual one. `oldest` is where all time begins."""
    since, until = _moment(query.get("since", "")), _moment(query.get("until", ""))
    if since and until and since < until:
        return _spanning("", since, until)
    name = query.get("range", usual)
    if name == ALL:
        return _spanning(ALL, min(oldest or now, now), now)
    name = name if name in RANGES else USUAL
    return _spanning(name, now - RANGES[name][1], now)


def _spanning(name: str, since: datetime, until: datetime) -> Timespan:
    until = max(until, since + timedelta(microseconds=1))
    step = next((step for step in _STEPS if (until - since) / step <= MOST_STEPS), _STEPS[-1])
    # The last step is the one that `until` is in, or ends with.
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
