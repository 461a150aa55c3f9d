"""Pages of streams and of sessions, newest first, each beginning where the previous one ended."""

from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple, Self
from uuid import UUID

from streamviz.records.moments import as_datetime, as_microseconds
from streamviz.records.queries.filters import Conditions, Filters, Values, conditions
from streamviz.records.queries.members import streams_with
from streamviz.records.queries.rows import limited, rows
from streamviz.records.queries.search import text_conditions


class Place(NamedTuple):
    """A place in a list ordered by time and id."""

    at: datetime
    id: UUID

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse a URL parameter; None if there is none, or it is not valid."""
        microseconds, _, row_id = text.partition("_")
        try:
            return cls(as_datetime(int(microseconds)), UUID(row_id))
        except (ValueError, OverflowError):
            return None

    def __str__(self) -> str:
        return f"{as_microseconds(self.at)}_{self.id}"


class Page(NamedTuple):
    """The ids of a page's rows, in order, and where the next page begins (None: this is the last). `found` has the
    newest matching stream for each row."""

    ids: list[UUID]
    following: Place | None
    found: list[Place]


# Index stream_newest, or that of a filter that matches fewer streams.
_FOUND = """
SELECT s.id, s.session_id, s.requested_at, s.requested_model
FROM records_stream AS s WHERE {conditions} AND {before} {fence}
"""
_STREAMS = """
SELECT s.id, s.requested_at, s.id FROM ({found}) AS s WHERE {is_wanted}
ORDER BY s.requested_at DESC, s.id DESC LIMIT %(most)s
"""
# A session is placed by the newest of its streams that match. Indexes stream_newest and stream_in_session.
_SESSIONS = """
SELECT s.session_id, s.requested_at, s.id FROM ({found}) AS s WHERE {is_newest}
ORDER BY s.requested_at DESC, s.id DESC LIMIT %(most)s
"""
_NO_LATER = """NOT EXISTS (
    SELECT FROM records_stream AS later
    WHERE later.session_id = s.session_id AND (later.requested_at, later.id) > (s.requested_at, s.id) AND {later}
)"""
# The same, evaluated stream by stream, and only for streams that match. Otherwise, with many partitions, Postgres would
# evaluate the costly conditions for all streams; so it would with IS NULL, which it expects to hold for hardly any.
_NO_LATER_OF_EACH = """CASE WHEN {is_wanted} THEN coalesce((
    SELECT false FROM records_stream AS later
    WHERE later.session_id = s.session_id AND (later.requested_at, later.id) > (s.requested_at, s.id) AND {later}
    LIMIT 1
), true) ELSE false END"""
# Totals of all streams of a session, except for `last`, which is of those that match: what pages show beside it.
SORTED = {
    "streams": "count(*)",
    "last": "max(found.last)",
    "models": "min(s.requested_model)",
    "outcome": "count(*) FILTER (WHERE s.outcome NOT IN ('completed', ''))",
    "duration": "max(s.ended_at) - min(s.requested_at)",
    "tokens": "sum(s.output_tokens)",
    "cost": "sum(s.cost)",
}
# Index stream_newest, which has all of these columns.
_SORTED_SESSIONS = """
WITH found AS MATERIALIZED (
    SELECT s.session_id, max(s.requested_at) AS last FROM records_stream AS s WHERE {conditions} GROUP BY s.session_id
)
SELECT s.session_id FROM records_stream AS s JOIN found USING (session_id)
GROUP BY s.session_id ORDER BY {value} {direction} NULLS LAST, s.session_id DESC LIMIT %(most)s OFFSET %(start)s
"""
_FOUND_IN = """
SELECT DISTINCT ON (s.session_id) s.session_id, s.requested_at, s.id FROM records_stream AS s
WHERE s.session_id = ANY(%(ids)s) AND {conditions} ORDER BY s.session_id, s.requested_at DESC, s.id DESC
"""
_BEFORE = "(s.requested_at, s.id) < (%(before_at)s, %(before_id)s)"
# First the newest FIRST_STRETCH streams that may match are searched, then a time _LONGER times as long, then all the
# rest. In a partition without a match Postgres reads the whole time that it is given, however soon others have enough.
FIRST_STRETCH, _LONGER = 10_000, 8
# Index stream_newest.
_NEWEST = """
SELECT count(*), min(requested_at), max(requested_at),
    (SELECT min(requested_at) FROM records_stream AS s WHERE {conditions})
FROM (
    SELECT requested_at FROM records_stream AS s WHERE {conditions} AND {before}
    ORDER BY requested_at DESC, id DESC LIMIT %(many)s
) AS newest
"""
_STRETCH = """s.requested_at >= coalesce(%(stretch_since)s, '-infinity'::timestamptz)
    AND s.requested_at < coalesce(%(stretch_until)s, 'infinity'::timestamptz)"""


def stream_page(filters: Filters, before: Place | None, size: int) -> Page:
    """The newest matching streams before a place. Raises SearchTooBroad."""
    return _page(_STREAMS, filters, before, size)


def session_page(filters: Filters, before: Place | None, size: int) -> Page:
    """The sessions of the newest matching streams before a place; each session appears once across all pages.

    Raises SearchTooBroad.
    """
    return _page(_SESSIONS, filters, before, size)


def sorted_session_page(
    filters: Filters, by: str, *, is_descending: bool, start: int, size: int
) -> tuple[list[UUID], list[Place], bool]:
    """The sessions of the matching streams, ordered by one of SORTED, from offset `start` on; the newest matching
    stream of each; and whether there are more. Raises SearchTooBroad."""
    direction = "DESC" if is_descending else "ASC"
    with limited("enable_seqscan = off", "work_mem = '64MB'"):
        wanted = wanted_streams(filters)
        sql = _SORTED_SESSIONS.format(conditions=wanted.of("s"), value=SORTED[by], direction=direction)
        ids = [row[0] for row in rows(sql, {**wanted.values, "most": size + 1, "start": start})]
        found = rows(_FOUND_IN.format(conditions=wanted.of("s")), {**wanted.values, "ids": ids[:size]})
    of_sessions = {session_id: Place(*place) for session_id, *place in found}
    # Between the two queries a stream may have ended or been deleted.
    kept = [each for each in ids[:size] if each in of_sessions]
    return kept, [of_sessions[each] for each in kept], len(ids) > size


def _page(statement: str, filters: Filters, before: Place | None, size: int) -> Page:
    place: Values = {"before_at": before.at, "before_id": before.id} if before else {}
    earlier = _BEFORE if before else "true"
    with limited("enable_seqscan = off"):
        wanted = wanted_streams(filters)
        # If few match, get all and sort those: Postgres would otherwise search all streams for the newest.
        fence = "OFFSET 0" if wanted.is_few else ""
        streams = _FOUND.format(conditions=wanted.rest_of("s"), before=f"{earlier} AND {_STRETCH}", fence=fence)
        is_wanted = wanted.costly_of("s")
        no_later = _NO_LATER_OF_EACH if wanted.costly else _NO_LATER
        is_newest = no_later.format(later=wanted.of_each("later"), is_wanted=is_wanted)
        asked = statement.format(found=streams, is_wanted=is_wanted, is_newest=is_newest)
        begins = [] if wanted.is_few else _stretches(filters, earlier, place)
        found: list[tuple[Any, ...]] = []
        for until, since in pairwise([None, *begins, None]):
            stretch = {"stretch_since": since, "stretch_until": until, "most": size + 1 - len(found)}
            found += rows(asked, {**wanted.values, **place, **stretch})
            if len(found) > size:
                break
    places = [Place(*row[1:]) for row in found[:size]]
    return Page([row[0] for row in found[:size]], places[-1] if len(found) > size else None, places)


def _stretches(filters: Filters, earlier: str, place: Values) -> list[datetime]:
    """Where stretches of the time begin, the newest first; the last stretch has all the rest. With no filters but the
    time, one stretch is enough, because every stream in it matches."""
    time = Filters(since=filters.since, until=filters.until)
    if filters == time:
        return []
    asked = conditions(time)
    newest = _NEWEST.format(conditions=asked.of("s"), before=earlier)
    [(number, since, last, first)] = rows(newest, {**asked.values, **place, "many": FIRST_STRETCH})
    if number < FIRST_STRETCH:
        return []
    longer = (last - since) * _LONGER
    return [since, since - longer] if longer < since - first else [since]


def wanted_streams(filters: Filters) -> Conditions:
    """The conditions of all filters."""
    plain = conditions(filters, streams_with(filters))
    if not filters.text.strip():
        return plain
    return plain.and_(text_conditions(filters.text))
