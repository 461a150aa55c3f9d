"""The partitions of the tables of the record: by the time in the ids of streams."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import NamedTuple
from uuid import UUID

import psycopg
from django.conf import settings

from streamviz.records.ids import milliseconds_of

RUNS = ("records_upstreamrun", "records_clientrun")
# In the order in which they are dropped. Of the words of a session's requests those that are lost with a stream are
# written again with others while it is still known which these are; all else is looked for by way of its stream, and
# goes after that: whoever reads meanwhile finds either all of a stream or none.
STREAMS = (
    *("records_requestwords", "records_stream"),
    *("records_stall", "records_lintnote", "records_verdict", "records_block"),
)
# A stream of the last minutes before midnight may be stored after it; days ahead are made while there is time.
DAYS_BEHIND = 1
DAYS_AHEAD = 7
# Whoever stores chunks waits while a partition is made, and that waits for whoever reads all of them.
LOCK_SECONDS = 1
# Of how many days a partition of streams is, where they are kept for up to so many. Many queries look into each, and to
# plan one costs 0.15 ms for each: more than some sixty are not wanted.
_WIDTHS = ((62, 1), (400, 7))
_WIDEST = 28
# Ids of other times were made up, or by a clock that was never set: they have no partition of their own.
_FIRST = datetime(2020, 1, 1, tzinfo=UTC)
_BEHIND = datetime(2100, 1, 1, tzinfo=UTC)
PARTITIONS = """
SELECT parent, p.child, nullif(p.first, '-infinity'), p.behind
FROM unnest(%(tables)s::text[]) AS parent, streamviz_partitions(parent) AS p
"""
_IN_DEFAULT = "SELECT DISTINCT {key} FROM {table}_default WHERE {key} >= streamviz_first_id(%s)"

# Of partitioned tables autovacuum analyses the partitions only. A table at a time, and each by itself.
_NOT_ANALYSED = """
SELECT relname FROM pg_stat_user_tables
WHERE relid = ANY(%s::regclass[]) AND (last_analyze IS NULL OR last_analyze < now() - interval '1 day')
"""


class Partition(NamedTuple):
    """A partition of a table: what it is called, the first day in it (None: it has all from the beginning on), and the
    first one behind it."""

    table: str
    name: str
    first: date | None
    behind: date

    @property
    def has_streams(self) -> bool:
        """Whether streams themselves are in it, and not what belongs to them."""
        return self.table == "records_stream"

    def has(self, day: date) -> bool:
        """Whether streams of this day are in it."""
        return (self.first is None or self.first <= day) and day < self.behind


def make_days(connection: psycopg.Connection, days: Iterable[date], tables: Sequence[str] = (*RUNS, *STREAMS)) -> None:
    """Make the partitions of these days where they are missing, with the rows of them that are in the default one.

    Raises psycopg.Error: LockNotAvailable where somebody reads all of a table just now.
    """
    found = [Partition(*row) for row in connection.execute(PARTITIONS, {"tables": list(tables)})]
    for day, table in product(sorted(days), tables):
        if not any(each.table == table and each.has(day) for each in found):
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                connection.execute("SELECT streamviz_make_partition(%s, %s, %s)", [table, day, width(table)])


def analyse(connection: psycopg.Connection) -> None:
    """Have Postgres know what is in all partitions of streams together, where it was not asked to for a day.

    The connection commits by itself. Raises psycopg.Error.
    """
    # Partitions have theirs from autovacuum. Before 18 they cannot be left out.
    only = "ONLY " if connection.info.server_version >= 180000 else ""
    for (table,) in connection.execute(_NOT_ANALYSED, [list(STREAMS)]).fetchall():
        connection.execute(f"ANALYZE {only}{table}")


def width(table: str) -> int:
    """How many days a partition of this table is of, from now on."""
    if table in RUNS:
        return 1
    kept = settings.RETENTION.stream_days
    return next((days for most, days in _WIDTHS if 0 < kept <= most), _WIDEST)


def days_around(now: datetime) -> set[date]:
    """The days that must have partitions now."""
    today = now.astimezone(UTC).date()
    return {today + timedelta(days=n) for n in range(-DAYS_BEHIND, DAYS_AHEAD + 1)}


def days_left_out(connection: psycopg.Connection, tables: Iterable[str], since: date) -> set[date]:
    """The days from `since` on of which rows of these tables are in the default partition. Raises psycopg.Error."""
    first = datetime(since.year, since.month, since.day, tzinfo=UTC)
    found: set[UUID] = set()
    for table in tables:
        found |= {row[0] for row in connection.execute(_IN_DEFAULT.format(table=table, key=key_of(table)), [first])}
    return {day for stream_id in found if (day := day_of(stream_id)) is not None}


def key_of(table: str) -> str:
    """The column that has the stream's id."""
    return "id" if table == "records_stream" else "stream_id"


def day_of(stream_id: UUID) -> date | None:
    """The day whose partition a stream belongs into; None where its id is not made of the time."""
    milliseconds = milliseconds_of(stream_id)
    if stream_id.version != 7 or not _FIRST.timestamp() <= milliseconds / 1000 < _BEHIND.timestamp():
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).date()
