"""Names that occur in streams: few, however many streams there are, so each is looked up along an index."""

from collections.abc import Iterable

from django.db.models import QuerySet

from streamviz.records.ids import beginning_with
from streamviz.records.models import ApiKey, Policy, Session
from streamviz.records.queries.rows import rows

MOST = 1_000

# Steps along the index from one name to the next, reading each name once.
_NAMES = """
WITH RECURSIVE known(name) AS (
    (SELECT {column} FROM {table} WHERE {only} ORDER BY {column} LIMIT 1)
    UNION ALL
    SELECT (SELECT {column} FROM {table} WHERE {only} AND {column} > known.name ORDER BY {column} LIMIT 1)
    FROM known WHERE known.name IS NOT NULL
)
SELECT name FROM known WHERE name IS NOT NULL LIMIT %(most)s
"""
_MODELS = _NAMES.format(column="requested_model", table="records_stream", only="true")  # index stream_of_model
_TOOLS = _NAMES.format(column="name", table="records_block", only="kind = 'tool_call'")  # index block_of_tool

_LABELS = "SELECT DISTINCT unnest(labels) AS name FROM records_annotation ORDER BY name LIMIT %(most)s"


def models() -> list[str]:
    """The models that clients asked for."""
    return [name for (name,) in rows(_MODELS, {"most": MOST})]


def tools() -> list[str]:
    """The tools that were called."""
    return [name for (name,) in rows(_TOOLS, {"most": MOST})]


def labels() -> list[str]:
    """The labels that people gave to streams."""
    return [name for (name,) in rows(_LABELS, {"most": MOST})]


def keys() -> list[str]:
    """All keys, including revoked ones."""
    return _first(ApiKey.objects.values_list("name", flat=True))


def policies() -> list[str]:
    """All policies."""
    return _first(Policy.objects.values_list("name", flat=True))


def sessions_by_id(ids: Iterable[str]) -> dict[str, Session]:
    """These sessions, by id."""
    return {str(session.pk): session for session in Session.objects.filter(pk__in=ids)}


def sessions_beginning_with(short: str) -> list[str]:
    """The ids of the sessions that a short id, as pages show it, may mean."""
    span = beginning_with(short)
    if span is None:
        return []
    # The usual order, by time, could make Postgres look through all sessions in that order.
    found = Session.objects.filter(pk__range=span).order_by("pk").values_list("pk", flat=True)
    return [str(each) for each in found[:MOST]]


def _first(names: "QuerySet[ApiKey, str] | QuerySet[Policy, str]") -> list[str]:
    return list(names[:MOST])
