"""Find retries as streams are stored: the same request again, after one that failed.

A worker recognises retries among its own streams. Across workers the record shows them: both requests begin anew in the
same session, or continue the same answer, whatever model was asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from streamviz.records.columns import as_array
from streamviz.records.ids import around, day_before
from streamviz.records.links import FAILED, Kind, kind_of
from streamviz.records.models.streams import Relation
from streamviz.records.writer.pending import Batch

# A client retries soon, so the request that it repeats is among the nearest of its session. That bounds what is read
# for a stream, however often the same request was made elsewhere, or long ago.
ALIKE = """
SELECT DISTINCT ON (session_id, requested_at, id) other.*
FROM records_stream AS stream CROSS JOIN LATERAL (
    (
        SELECT id, session_id, parent, relation, outcome, requested_at, ended_at, marks FROM records_stream
        WHERE session_id = stream.session_id AND id BETWEEN %(first)s AND %(last)s
        AND requested_at BETWEEN stream.requested_at - interval '1 hour' AND stream.requested_at
        ORDER BY requested_at DESC LIMIT 100
    ) UNION ALL (
        SELECT id, session_id, parent, relation, outcome, requested_at, ended_at, marks FROM records_stream
        WHERE session_id = stream.session_id AND id BETWEEN %(first)s AND %(last)s
        AND requested_at > stream.requested_at AND requested_at <= stream.requested_at + interval '1 hour'
        ORDER BY requested_at LIMIT 100
    )
) AS other
WHERE stream.id = ANY(%(streams)s)
AND (other.id = stream.id OR %(failed)s && ARRAY[stream.outcome, other.outcome]::text[])
AND other.marks && stream.marks
ORDER BY session_id, requested_at, id
"""
# A stream's followers came after it, so earlier partitions are not read.
FAILED_AFTER = """
SELECT id FROM records_stream WHERE parent = ANY(%(parents)s) AND id >= %(since)s AND outcome = ANY(%(failed)s)
ORDER BY requested_at DESC LIMIT 100
"""
FAILED_OUTCOMES = [str(each) for each in FAILED]
_LINK = "UPDATE records_stream SET parent = %s, relation = 'retry' WHERE id = %s"


@dataclass(slots=True)
class _Row:
    """A stream that has ended."""

    id: UUID
    session_id: UUID
    parent: UUID | None
    relation: str
    outcome: str
    requested_at: datetime
    ended_at: datetime | None
    marks: list[int]

    @property
    def requests(self) -> set[int]:
        """The marks of the request itself."""
        return {mark for mark in self.marks if kind_of(mark) is Kind.REQUEST}


def link_retries(cursor: psycopg.Cursor, batches: Sequence[Batch], parents: set[UUID]) -> set[UUID]:
    """Link retries among what was just stored or found to continue `parents`, and give their previous parents."""
    streams = [batch.stream_id for batch in batches if batch.closed and batch.closed.marks]
    if parents:
        told = {"parents": list(parents), "since": day_before(min(parents)), "failed": FAILED_OUTCOMES}
        streams += [id for [id] in cursor.execute(FAILED_AFTER, told)]
    if not streams:
        return set()
    wanted = {"streams": as_array(streams), "failed": FAILED_OUTCOMES, **around(streams)._asdict()}
    rows = cursor.connection.cursor(row_factory=class_row(_Row)).execute(ALIKE, wanted).fetchall()
    left_by: set[UUID] = set()
    for _, alike in groupby(rows, attrgetter("session_id")):
        for row, failed in _again(alike):
            cursor.execute(_LINK, [failed.id, row.id])
            left_by |= {row.parent} if row.parent else set()
    return left_by


def _again(alike: Iterable[_Row]) -> Iterator[tuple[_Row, _Row]]:
    """The retries among a session's streams, in their order, each with the latest failed stream whose request it
    repeats. A retry counts as continuing what the first attempt continued."""
    origins: dict[UUID, UUID | None] = {}
    failed: defaultdict[UUID | None, list[_Row]] = defaultdict(list)
    for row in alike:
        origin = origins.get(row.parent, row.parent) if row.parent and row.relation == Relation.RETRY else row.parent
        origins[row.id] = origin
        last = next((each for each in reversed(failed[origin]) if _is_again(row, each)), None)
        if last is not None and last.id != row.parent:
            yield row, last
        if row.outcome in FAILED:
            failed[origin].append(row)


def _is_again(row: _Row, failed: _Row) -> bool:
    is_over = failed.ended_at is not None and failed.ended_at <= row.requested_at
    return is_over and not failed.requests.isdisjoint(row.requests)
