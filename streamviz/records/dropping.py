"""Drop expired partitions of streams, and of what belongs to them.

Rows that are kept move to the default partitions. One table is dropped at a time, so readers and writers wait for only
one of them.
"""

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

from django.db import connection, transaction

from streamviz.records.archive.statements import FORGET_THOSE
from streamviz.records.deletion import FORGET_EXAMPLES_IN
from streamviz.records.partitions import PARTITIONS, RUNS, STREAMS, Partition, key_of
from streamviz.records.queries.rows import rows

LOCK_SECONDS = 5
_COLUMNS = """
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
# Subtracts the whole partition; streams that are kept are added again as they are stored in the default partition.
_TAKE_OFF = """
INSERT INTO records_halfhour (
    requested_at, requested_model, provider, key_id, outcome,
    streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens, estimated
)
SELECT streamviz_half_hour(requested_at), requested_model, provider, key_id, outcome,
    -count(*), -coalesce(sum(input_tokens), 0), -coalesce(sum(output_tokens), 0), -coalesce(sum(cost), 0),
    -count(input_tokens), -count(output_tokens), -count(cost), -coalesce(sum(cache_read_tokens), 0),
    -count(*) FILTER (WHERE is_estimated)
FROM {child} WHERE outcome <> '' GROUP BY 1, 2, 3, 4, 5
"""
_BELONGING = ("records_annotation", "records_publiclink")
_GONE = "SELECT id FROM {child} WHERE id <> ALL(%(kept)s)"
_DELETE_BELONGING = """
DELETE FROM {table} AS one WHERE EXISTS (SELECT FROM {child} WHERE id = one.stream_id) AND stream_id <> ALL(%(kept)s)
"""
# A session's last stream was requested at `last_at`, so none of its streams has a much later id; the default partition
# has ids of any time. Public links go too: they were not made for a new session that may get the same id.
_DELETE_EMPTY_SESSIONS = """
WITH gone AS (
    DELETE FROM records_session AS session WHERE last_at < %(before)s AND NOT is_starred
    AND NOT EXISTS (SELECT FROM records_stream_default AS one WHERE one.session_id = session.id)
    AND NOT EXISTS (
        SELECT FROM records_stream AS one
        WHERE one.session_id = session.id AND one.id < streamviz_first_id(%(before)s + interval '1 day')
    )
    RETURNING id
) DELETE FROM records_publiclink WHERE session_id IN (SELECT id FROM gone)
"""


def partitions_before(behind: date) -> list[Partition]:
    """The partitions of streams that have nothing of this day or later: oldest first, those of the same days in the
    order of STREAMS."""
    found = [Partition(*row) for row in rows(PARTITIONS, {"tables": list(STREAMS)})]
    over = (each for each in found if each.behind <= behind)
    return sorted(over, key=lambda each: (each.behind, STREAMS.index(each.table)))


def first_of_streams() -> date | None:
    """The first day that a partition of streams has; None if there is no partition, or one without a first day."""
    firsts = [Partition(*row).first for row in rows(PARTITIONS, {"tables": ["records_stream"]})]
    return None if None in firsts else min(filter(None, firsts), default=None)


def drop(partition: Partition, kept: Sequence[UUID]) -> None:
    """Drop a partition, except for the rows of the streams that are kept. Raises OperationalError if somebody uses its
    table for long."""
    table, child, key = partition.table, partition.name, key_of(partition.table)
    values = {"kept": list(kept)}
    [(columns,)] = rows(_COLUMNS, {"table": table})
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        cursor.execute(f"ALTER TABLE {table} DETACH PARTITION {child}")
        if partition.has_streams:
            cursor.execute(_TAKE_OFF.format(child=child))
            for belonging in _BELONGING:
                cursor.execute(_DELETE_BELONGING.format(table=belonging, child=child), values)
            cursor.execute(FORGET_EXAMPLES_IN.format(child=child), values)
            # The chunks and words of streams that were kept until now.
            gone = _GONE.format(child=child)
            for earlier in (*RUNS, "records_requestwords"):
                cursor.execute(f"DELETE FROM {earlier}_default WHERE stream_id IN ({gone})", values)  # noqa: S608
            cursor.execute(FORGET_THOSE.format(gone), values)
        moved = f"SELECT {columns} FROM {child} WHERE {key} = ANY(%(kept)s)"  # noqa: S608
        cursor.execute(f"INSERT INTO {table} ({columns}) {moved}", values)
        cursor.execute(f"DROP TABLE {child}")


def delete_empty_sessions(before: datetime) -> None:
    """Delete the sessions, and the links to them, that have no streams left and whose last one was before this time."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_EMPTY_SESSIONS, {"before": before})
