"""Find the largest groups of streams."""

from typing import Any, NamedTuple
from uuid import UUID

from streamviz.records.queries.filters import Conditions, Filters
from streamviz.records.queries.grouping import COLUMNS, PLANNED, Grouping, source_of, streams_in
from streamviz.records.queries.pages import wanted_streams
from streamviz.records.queries.rows import planned, rows
from streamviz.records.queries.samples import one_in_index, sampled

# Index stream_newest for sessions.
_LARGEST = """
SELECT {name}, sum(streams)::bigint, count(*) OVER () FROM (
    SELECT {column}, sum(streams) AS streams, sum({by}) AS size
    FROM {source} AS s WHERE {conditions} GROUP BY 1
) AS s
GROUP BY 1 HAVING sum(streams) > 0 ORDER BY sum(size) DESC NULLS LAST, 1 LIMIT %(most)s
"""
# What groups can be ranked by, and its column.
LARGEST = {"streams": "streams", "tokens": "output_tokens", "cost": "cost"}
# Indexes stream_sampled and stream_sampled_less. Ranks sessions by the sampled streams alone.
_SEEM_LARGEST = """
SELECT session_id FROM records_stream AS s WHERE {conditions} AND {only}
GROUP BY 1 ORDER BY {by} DESC NULLS LAST, 1 LIMIT %(most)s
"""
_SEEMING = {"streams": "count(*)", "tokens": "sum(output_tokens)", "cost": "sum(cost)"}
# With more than MOST_ADDED_UP streams, only those of the CANDIDATES sessions that look largest in a sample are added up
# to find the largest sessions.
MOST_ADDED_UP, CANDIDATES = 150_000, 300


class Largest(NamedTuple):
    """The names of groups, the largest first, and how many groups there are: None if a sample of one stream in `one_in`
    decided which groups were considered."""

    names: list[str]
    groups: int | None
    one_in: int = 1


def largest(filters: Filters, grouping: Grouping, most: int, by: str = "streams", among: int | None = None) -> Largest:
    """The groups that have the most of one of LARGEST. `among` is how many streams this time has, if that is known."""
    with planned(*PLANNED):
        wanted = wanted_streams(filters)
        streams = 0 if grouping is not Grouping.SESSION else among or streams_in(filters)
        if streams > MOST_ADDED_UP:
            few = one_in_index(streams)
            of_some = {"conditions": wanted.of("s"), "only": sampled(few), "by": _SEEMING[by]}
            values = {**wanted.values, "most": CANDIDATES}
            candidates = [name for (name,) in rows(_SEEM_LARGEST.format(**of_some), values)]
            if len(candidates) == CANDIDATES:  # with fewer, the sample may lack some of the largest
                found = _largest(filters, wanted, grouping, most, by, candidates)
                return Largest([str(name) for name, _, _ in found], None, few)
        found = _largest(filters, wanted, grouping, most, by)
        return Largest([str(name) for name, _, _ in found], found[0][2] if found else 0)


def _largest(
    filters: Filters, wanted: Conditions, grouping: Grouping, most: int, by: str, candidates: list[UUID] | None = None
) -> list[tuple[Any, ...]]:
    """Rows of the largest groups: the name, its streams, and how many groups there are; only `candidates`, if given."""
    parts = {
        "name": grouping.value,
        "column": COLUMNS[grouping],
        "source": source_of(filters, grouping),
        "conditions": wanted.of("s"),
        "by": LARGEST[by],
    }
    values = {**wanted.values, "most": most}
    if candidates is not None:
        parts["conditions"] += " AND s.session_id = ANY(%(candidates)s)"
        values["candidates"] = candidates
    return rows(_LARGEST.format(**parts), values)
