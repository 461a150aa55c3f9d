"""A time span that a person chose, as it is in a URL: `?range=7d`, or `?since=…&until=…` for a drawing's bar."""

from datetime import datetime, timedelta
from typing import NamedTuple

ALL = "all"
RANGES = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
# What the link to each says.
CHOICES = {"1h": "1 h", "24h": "24 h", "7d": "7 d", "30d": "30 d", ALL: "All"}
_WORDS = {"1h": "hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}


class Timespan(NamedTuple):
    """From `since` to before `until`, in whole steps from ORIGIN. `name` is one of RANGES or ALL, or else empty."""

    name: str
    since: datetime
    until: datetime
    step: timedelta

    @property
    def query(self) -> dict[str, str]:
        """The same as parameters of a URL."""
        return {"range": self.name} if self.name else between(self.since, self.until)

    @property
    def words(self) -> str:
        if self.name == ALL:
            return "so far"
        if self.name:
            return f"in the last {_WORDS[self.name]}"
        is_one_day = self.since.date() == (self.until - timedelta(microseconds=1)).date()
        return f"from {self.since:%d %b %H:%M:%S} to {self.until:{'%H:%M:%S' if is_one_day else '%d %b %H:%M:%S'}} UTC"

    @property
    def steps(self) -> list[datetime]:
        """When each step begins."""
        return [self.since + n * self.step for n in range((self.until - self.since) // self.step)]


def between(since: datetime, until: datetime) -> dict[str, str]:
    """Two times in a URL, to the second."""
    return {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"}
