"""Full-text search: all words in one block, in one request, in a session's label and name or in a model's name.

Words are found whole, and the last of each term by its beginning; a path or a name is a phrase.
"""

from typing import Any
from uuid import UUID

from streamviz.records.ids import first_id
from streamviz.records.queries.filters import Conditions, Values
from streamviz.records.queries.rows import limited, rows

# Up to so many streams that match are looked for first and sorted then. Where there are more, the newest streams are
# looked through instead: a page of matches is then found soon.
FEW = 2000
# The streams of so many sessions are few, too.
FEW_SESSIONS = 200
# The same goes for what so many of some streams of all times have, and one of the last twentieth of the time: its
# matches need not even be looked up. The newest alone would not tell: what somebody works on just now is in them all,
# and hardly anywhere else.
SOME, COMMON = 200, 4

_ENDS = "SELECT min(requested_at), max(requested_at) FROM records_stream"  # index stream_newest
# The primary keys of streams and of requests' words, index block_ordinal. Asked stream by stream, as subqueries of one
# value are: for EXISTS or EXISTS Postgres would look up all matches of the record first.
_IN_SOME = """
SELECT id FROM (
    SELECT DISTINCT near.id FROM unnest(%(points)s::uuid[]) AS point (id) CROSS JOIN LATERAL (
        SELECT id FROM records_stream WHERE id >= point.id ORDER BY id LIMIT 1
    ) AS near
) AS s
WHERE coalesce(
    (SELECT true FROM records_block AS block
    WHERE block.stream_id = s.id AND block.search @@ streamviz_query(%(text)s) LIMIT 1),
    (SELECT true FROM records_requestwords AS asked
    WHERE asked.stream_id = s.id AND asked.search @@ streamviz_query(%(text)s))
)
"""
# Indexes block_search and request_words_search.
_MATCHING_STREAMS = """
SELECT stream_id FROM (
    SELECT stream_id FROM records_block WHERE search @@ streamviz_query(%(text)s) LIMIT %(most)s
) AS block
UNION ALL
SELECT stream_id FROM (
    SELECT stream_id FROM records_requestwords WHERE search @@ streamviz_query(%(text)s) LIMIT %(most)s
) AS asked
"""
# Index session_search.
_MATCHING_SESSIONS = """
SELECT id FROM records_session
WHERE to_tsvector('simple'::regconfig, streamviz_words(label || ' ' || name)) @@ streamviz_query(%(text)s)
LIMIT %(most)s
"""
# Index stream_of_model, once for each name that there is.
_MATCHING_MODELS = """
WITH RECURSIVE model(name) AS (
    (SELECT requested_model FROM records_stream ORDER BY requested_model LIMIT 1)
    UNION ALL
    SELECT (
        SELECT requested_model FROM records_stream WHERE requested_model > name ORDER BY requested_model LIMIT 1
    ) FROM model WHERE name IS NOT NULL
)
SELECT name FROM (SELECT name FROM model LIMIT %(most)s) AS each
WHERE to_tsvector('simple'::regconfig, streamviz_words(name)) @@ streamviz_query(%(text)s)
"""
_ID = "({s}.id = %(id)s OR {s}.session_id = ANY(%(sessions)s))"
# Index session_of_name.
_CALLED = """
SELECT id FROM records_session WHERE name <> '' AND name = %(name)s AND left(name, 100) = left(%(name)s, 100)
"""
# Indexes of the primary key, stream_in_session and stream_of_model.
_FEW = (
    "({s}.id = ANY(%(found_streams)s) OR {s}.session_id = ANY(%(found_sessions)s)"
    " OR {s}.requested_model = ANY(%(found_models)s))"
)
# A subquery of one value is asked stream by stream, in whatever order the streams come. Index block_ordinal, and the
# primary key of requests' words.
_MANY = """coalesce(
    (SELECT true FROM records_block AS found
    WHERE found.stream_id = {s}.id AND found.search @@ streamviz_query(%(text)s) LIMIT 1),
    (SELECT true FROM records_requestwords AS asked
    WHERE asked.stream_id = {s}.id AND asked.search @@ streamviz_query(%(text)s)),
    {session} OR {s}.requested_model = ANY(%(found_models)s)
)"""
_SESSION_FOUND = "{s}.session_id = ANY(%(found_sessions)s)"
# Of more sessions than are looked up.
_SESSION_MATCHES = """(SELECT to_tsvector('simple'::regconfig, streamviz_words(label || ' ' || name))
    @@ streamviz_query(%(text)s) FROM records_session WHERE id = {s}.session_id)"""


def text_conditions(text: str) -> Conditions:
    """The condition that a stream matches a text; an id is taken for one, of ours or of a client's session.

    Raises SearchTooBroad."""
    if (wanted := as_id(text)) is not None:
        called = [row[0] for row in rows(_CALLED, {"name": text.strip()})]
        return Conditions(_ID, {"id": wanted, "sessions": [wanted, *called]}, is_few=True)
    values: Values = {"text": text.replace("\x00", " "), "most": FEW + 1}
    if not rows("SELECT streamviz_query(%(text)s) <> ''::tsquery", values)[0][0]:
        return Conditions("true", {})
    sessions = _found(_MATCHING_SESSIONS, values)
    found = {"found_sessions": sessions, "found_models": _found(_MATCHING_MODELS, values)}
    is_common = len(sessions) > FEW or _is_common(values)
    streams = [] if is_common else _found(_MATCHING_STREAMS, values)
    if is_common or len(streams) > FEW:
        session = _SESSION_FOUND if len(sessions) <= FEW else _SESSION_MATCHES
        matches = _MANY.replace("{session}", session)
        return Conditions(matches, {"text": values["text"], **found}, costly=matches, rest="true")
    is_few = not found["found_models"] and len(sessions) <= FEW_SESSIONS
    return Conditions(_FEW, {"found_streams": streams, **found}, is_few=is_few)


def _is_common(values: Values) -> bool:
    if not (points := _points()):
        return False
    found = _found(_IN_SOME, {**values, "points": points})
    return len(found) >= COMMON and max(found, default=points[-1]) >= points[-1 - SOME // 20]


def _points() -> list[UUID]:
    """Ids of the time from the first stream to the last one, at equal distances."""
    [(first, last)] = rows(_ENDS)
    return [] if first is None else [first_id(first + (last - first) * n / (SOME - 1)) for n in range(SOME)]


def _found(statement: str, values: Values) -> list[Any]:
    # Of words that many blocks have Postgres would look for some by reading all blocks from the first on. A phrase of
    # words that nearly every block has, and hardly any has in this order, has them all looked at.
    with limited("enable_seqscan = off"):
        return [row[0] for row in rows(statement, values)]


def as_id(text: str) -> UUID | None:
    """The id that a text is; None where it is none."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None
