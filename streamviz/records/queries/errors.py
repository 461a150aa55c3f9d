"""Errors grouped by their text, so that a thousand of one sort are one line."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from streamviz.records.queries.filters import Conditions, Filters, conditions
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import limited, rows

MOST = 100
# How many of the newest failed streams of the time are read, and how many if each has to be examined. If the filters
# match hardly any stream, this many of those that match are read.
NEWEST, NEWEST_COSTLY = 10_000, 2_500
_NAMES = 5
SORTED = {"says": "says", "streams": "count(*)", "last": "max(requested_at)", "first": "min(requested_at)"}
# Index stream_with_error, as below.
_FIRST = """
SELECT s.requested_at FROM records_stream AS s WHERE s.error <> '' AND {conditions}
ORDER BY s.requested_at DESC, s.id DESC OFFSET %(newest)s - 1 LIMIT 2
"""
_GROUPS = """
SELECT says, count(*), min(requested_at), max(requested_at), (array_agg(id ORDER BY requested_at DESC))[1],
    (array_agg(DISTINCT requested_model))[1:%(names)s], count(DISTINCT requested_model),
    (array_agg(DISTINCT key))[1:%(names)s], count(DISTINCT key)
FROM (
    SELECT streamviz_error(s.error) AS says, s.id, s.requested_at, s.requested_model, coalesce(key.name, '') AS key
    FROM records_stream AS s LEFT JOIN records_apikey AS key ON key.id = s.key_id
    WHERE s.error <> '' AND {conditions}
) AS failed
GROUP BY says ORDER BY {order}, max(requested_at) DESC LIMIT %(most)s
"""


class ErrorGroup(NamedTuple):
    """Streams that failed with the same text; `newest` is one of them. The first few models and keys are named, and
    `more_models` and `more_keys` say how many others there are."""

    says: str
    streams: int
    first: datetime
    last: datetime
    newest: UUID
    models: list[str]
    more_models: int
    keys: list[str]
    more_keys: int


class Errors(NamedTuple):
    """Groups of errors, the first MOST, and whether there are more. `since` is None if the whole time was covered;
    otherwise only the newest `looked_at` failed streams were, the oldest of them requested then."""

    groups: list[ErrorGroup]
    has_more: bool
    since: datetime | None
    looked_at: int


def error_groups(filters: Filters, by: str = "streams", *, is_descending: bool = True) -> Errors:
    """Errors of the streams that match, ordered by one of SORTED. If very many streams of this time, with these models
    and keys, failed, only the newest are read: NEWEST, or NEWEST_COSTLY. Raises SearchTooBroad."""
    order = f"{SORTED[by]} {'DESC' if is_descending else 'ASC'}"
    with limited("enable_seqscan = off"):
        wanted = wanted_streams(filters)
        looked_at = NEWEST_COSTLY if wanted.is_costly or _are_errors_read(filters) else NEWEST
        # What the index of errors includes.
        among = Filters(since=filters.since, until=filters.until, models=filters.models, keys=filters.keys)
        since = _looked_at_since(wanted if _is_narrow(filters, wanted) else conditions(among), looked_at)
        if since is not None:
            wanted = wanted.and_(conditions(Filters(since=since)))
        found = rows(
            _GROUPS.format(conditions=wanted.of_each("s"), order=order),
            {**wanted.values, "most": MOST + 1, "names": _NAMES},
        )
    groups = [
        ErrorGroup(says, streams, first, last, newest, models, of_models - len(models), keys, of_keys - len(keys))
        for says, streams, first, last, newest, models, of_models, keys, of_keys in found[:MOST]
    ]
    return Errors(groups, len(found) > MOST, since, looked_at)


def _is_narrow(filters: Filters, wanted: Conditions) -> bool:
    """Whether indexes find the matching streams, of which there are then probably few."""
    of_sessions = filters.sessions and "" not in filters.sessions
    return wanted.is_few or bool(of_sessions or filters.starred or filters.labels or filters.notes)


def _are_errors_read(filters: Filters) -> bool:
    """Whether the text of each error is searched."""
    return bool(filters.errors or (filters.without and filters.without.errors))


def _looked_at_since(among: Conditions, newest: int) -> datetime | None:
    """When the oldest of the `newest` failed streams within `among` was requested; None if there are no more."""
    found = rows(_FIRST.format(conditions=among.of("s")), {**among.values, "newest": newest})
    return found[0][0] if len(found) > 1 else None
