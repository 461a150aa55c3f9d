"""The partitions of the record's tables, by the time encoded in the ids of streams."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import NamedTuple
from uuid import UUID

import psycopg
from django.conf import settings

from streamviz.records.ids import milliseconds_of
from streamviz.records.moments import midnight

RUNS = ("records_upstreamrun", "records_clientrun")
# In the order in which they are dropped. Request words come first: those that a session loses with a stream are
# rewritten for others of its streams, while it is still known which sessions these are. Everything else is found by way
# of its stream and dropped after it, so that readers find either all of a stream or nothing.
STREAMS = (
    *("records_requestwords", "records_stream"),
    *("records_stall", "records_lintnote", "records_verdict", "records_block"),
)
# A stream from just before midnight may be stored after it; days ahead are created while there is time.
DAYS_BEHIND = 1
DAYS_AHEAD = 7
# Whoever stores chunks waits while a partition is created, which in turn waits for anybody reading the whole table.
LOCK_SECONDS = 1
# How many days a partition of streams spans, by how many days streams are kept at most. Many queries read every
# partition, and planning takes 0.15 ms for each, so there should be no more than about sixty.
_WIDTHS = ((62, 1), (400, 7))
_WIDEST = 28
# Ids of other times were made up, or made by a clock that was never set: they have no partition of their own.
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
_BEHIND = datetime(2100, 1, 1, tzinfo=UTC)
PARTITIONS = """
SELECT parent, p.child, nullif(p.first, '-infinity'), p.behind
FROM unnest(%(tables)s::text[]) AS parent, streamviz_partitions(parent) AS p
"""
_IN_DEFAULT = "SELECT DISTINCT {key} FROM {table}_default WHERE {key} >= streamviz_first_id(%s)"

# Autovacuum analyses only the partitions of a partitioned table, not the table itself. One table at a time, each by
# itself.
_NOT_ANALYSED = """
SELECT relname FROM pg_stat_user_tables
WHERE relid = ANY(%s::regclass[]) AND (last_analyze IS NULL OR last_analyze < now() - interval '1 day')
"""


class Partition(NamedTuple):
    """A partition of a table: its name, its first day (None if it has no lower bound), and the first day after it."""

    table: str
    name: str
    first: date | None
    behind: date

    @property
    def has_streams(self) -> bool:
        """Whether it has streams themselves, not what belongs to them."""
        return self.table == "records_stream"

    def has(self, day: date) -> bool:
        """Whether it has the streams of this day."""
        return (self.first is None or self.first <= day) and day < self.behind


def make_days(connection: psycopg.Connection, days: Iterable[date], tables: Sequence[str] = (*RUNS, *STREAMS)) -> None:
    """Create missing partitions of these days, as far as days have any, and move their rows there from the default
    partition.

    Raises psycopg.Error: LockNotAvailable if somebody is reading a whole table.
    """
    found = [Partition(*row) for row in connection.execute(PARTITIONS, {"tables": list(tables)})]
    own = (day for day in days if FIRST.date() <= day < _BEHIND.date())
    for day, table in product(sorted(own), tables):
        if not any(each.table == table and each.has(day) for each in found):
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                connection.execute("SELECT streamviz_make_partition(%s, %s, %s)", [table, day, width(table)])


def analyse(connection: psycopg.Connection) -> None:
    """Update Postgres' statistics of the partitioned tables of streams as a whole, if they are over a day old.

    The connection must be in autocommit mode. Raises psycopg.Error.
    """
    # Partitions get theirs from autovacuum. Before Postgres 18 they cannot be left out.
    only = "ONLY " if connection.info.server_version >= 180000 else ""
    for (table,) in connection.execute(_NOT_ANALYSED, [list(STREAMS)]).fetchall():
        connection.execute(f"ANALYZE {only}{table}")


def width(table: str) -> int:
    """How many days new partitions of this table span."""
    if table in RUNS:
        return 1
    kept = settings.RETENTION.stream_days
    return next((days for most, days in _WIDTHS if 0 < kept <= most), _WIDEST)


def days_around(now: datetime) -> set[date]:
    """The days that must have partitions now."""
    today = now.astimezone(UTC).date()
    return {today + timedelta(days=n) for n in range(-DAYS_BEHIND, DAYS_AHEAD + 1)}


def days_left_out(connection: psycopg.Connection, tables: Iterable[str], since: date) -> set[date]:
    """The days from `since` on that have rows of these tables in the default partition. Raises psycopg.Error."""
    first = midnight(since)
    found: set[UUID] = set()
    for table in tables:
        found |= {row[0] for row in connection.execute(_IN_DEFAULT.format(table=table, key=key_of(table)), [first])}
    return {day for stream_id in found if (day := day_of(stream_id)) is not None}


def key_of(table: str) -> str:
    """The column with the stream's id."""
    return "id" if table == "records_stream" else "stream_id"


def day_of(stream_id: UUID) -> date | None:
    """The day whose partition a stream belongs in; None if its id does not encode a time."""
    milliseconds = milliseconds_of(stream_id)
    if stream_id.version != 7 or not FIRST.timestamp() <= milliseconds / 1000 < _BEHIND.timestamp():
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).date()
