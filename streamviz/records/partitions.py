"""The days' partitions of the tables of runs."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import psycopg

# A stream of the last minutes before midnight may be stored after it; days ahead are made while there is time.
DAYS_BEHIND = 1
DAYS_AHEAD = 7


def make_days(connection: psycopg.Connection, days: Iterable[date]) -> None:
    """Make the partitions of these days where they are missing. Raises psycopg.Error."""
    for day in sorted(days):
        connection.execute("SELECT streamviz_make_day(%s)", [day])


def days_around(now: datetime) -> list[date]:
    """The days that must have partitions now."""
    today = now.astimezone(UTC).date()
    return [today + timedelta(days=n) for n in range(-DAYS_BEHIND, DAYS_AHEAD + 1)]
