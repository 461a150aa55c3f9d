"""The days' partitions of the tables of runs."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import psycopg

from streamviz.records.ids import milliseconds_of

# A stream of the last minutes before midnight may be stored after it; days ahead are made while there is time.
DAYS_BEHIND = 1
DAYS_AHEAD = 7
# Whoever stores chunks waits while a partition is made, and that waits for whoever reads all of them.
LOCK_SECONDS = 1
# Ids of other times were made up, or by a clock that was never set: they have no partition of their own.
_FIRST = datetime(2020, 1, 1, tzinfo=UTC)
_BEHIND = datetime(2100, 1, 1, tzinfo=UTC)
_IN_DEFAULT = """
SELECT stream_id FROM records_upstreamrun_default WHERE stream_id >= streamviz_first_id(%(since)s)
UNION
SELECT stream_id FROM records_clientrun_default WHERE stream_id >= streamviz_first_id(%(since)s)
"""


def make_days(connection: psycopg.Connection, days: Iterable[date]) -> None:
    """Make the partitions of these days where they are missing, with the rows of them that are in the default one.

    Raises psycopg.Error: LockNotAvailable where somebody reads all chunks just now.
    """
    for day in sorted(days):
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            connection.execute("SELECT streamviz_make_day(%s)", [day])


def days_around(now: datetime) -> set[date]:
    """The days that must have partitions now."""
    today = now.astimezone(UTC).date()
    return {today + timedelta(days=n) for n in range(-DAYS_BEHIND, DAYS_AHEAD + 1)}


def days_left_out(connection: psycopg.Connection, since: date) -> set[date]:
    """The days from `since` on of which there are rows in the default partition. Raises psycopg.Error."""
    found = connection.execute(_IN_DEFAULT, {"since": datetime(since.year, since.month, since.day, tzinfo=UTC)})
    return {day for (stream_id,) in found if (day := day_of(stream_id)) is not None}


def day_of(stream_id: UUID) -> date | None:
    """The day whose partition a stream belongs into; None where its id is not made of the time."""
    milliseconds = milliseconds_of(stream_id)
    if stream_id.version != 7 or not _FIRST.timestamp() <= milliseconds / 1000 < _BEHIND.timestamp():
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).date()
