"""Errors by what they say, so that a thousand of one sort are one line."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from streamviz.records.queries.filters import Filters
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import limited, rows

MOST = 100
_NAMES = 5
SORTED = {"says": "says", "streams": "count(*)", "last": "max(requested_at)", "first": "min(requested_at)"}
# Index stream_with_error.
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
    """The streams that failed with the same words. `newest` is one of them; of models and keys the first few are named,
    and `more_models` and `more_keys` say how many there are besides."""

    says: str
    streams: int
    first: datetime
    last: datetime
    newest: UUID
    models: list[str]
    more_models: int
    keys: list[str]
    more_keys: int


def error_groups(filters: Filters, by: str = "streams", *, is_descending: bool = True) -> list[ErrorGroup]:
    """The errors of the streams that are asked for, by one of SORTED: of very many those that come first in this order.
    Raises SearchTooBroad."""
    wanted = wanted_streams(filters)
    order = f"{SORTED[by]} {'DESC' if is_descending else 'ASC'}"
    with limited("enable_seqscan = off", "jit = off"):
        found = rows(
            _GROUPS.format(conditions=wanted.of("s"), order=order), {**wanted.values, "most": MOST, "names": _NAMES}
        )
    return [
        ErrorGroup(says, streams, first, last, newest, models, of_models - len(models), keys, of_keys - len(keys))
        for says, streams, first, last, newest, models, of_models, keys, of_keys in found
    ]
