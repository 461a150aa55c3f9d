"""Full-text search: all words in one block, in one request, in a session's label and name, or in a model's name.

Words match whole, the last one of each term by its beginning; a path or a name is a phrase.
"""

from typing import Any
from uuid import UUID

from streamviz.records.ids import Span, beginning_with, first_id
from streamviz.records.queries.filters import Conditions, Values
from streamviz.records.queries.rows import limited, rows

# Up to this many matching streams are looked up first, and then sorted. If there are more, the newest streams are
# searched instead, which soon finds a page of matches.
FEW = 2000
# Up to this many sessions have few streams, too.
FEW_SESSIONS = 200
# The newest streams are also searched if, of SOME streams spread over all time, COMMON or more match, one of them in
# the last twentieth of that time; then the matches need not even be looked up. The newest streams alone would be no
# guide: what somebody is working on now is in all of them, and hardly anywhere else.
SOME, COMMON = 200, 4

_ENDS = "SELECT min(requested_at), max(requested_at) FROM records_stream"  # index stream_newest
# The primary keys of streams and of request words, and index block_ordinal. Evaluated stream by stream, as scalar
# subqueries are: for EXISTS or EXISTS, Postgres would first look up all matches in the record.
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
# Index stream_of_model, read once for each name.
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
# Indexes of the primary key and stream_in_session.
_IDS = """({s}.id BETWEEN %(first_id)s AND %(last_id)s OR {s}.session_id BETWEEN %(first_id)s AND %(last_id)s
    OR {s}.session_id = ANY(%(called)s))"""
# The primary keys.
_IS_ANY = """
SELECT EXISTS (SELECT FROM records_stream WHERE id BETWEEN %(first_id)s AND %(last_id)s)
    OR EXISTS (SELECT FROM records_session WHERE id BETWEEN %(first_id)s AND %(last_id)s)
"""
# Index session_of_name.
_CALLED = """
SELECT id FROM records_session WHERE name <> '' AND name = %(name)s AND left(name, 100) = left(%(name)s, 100)
"""
# Indexes of the primary key, stream_in_session and stream_of_model.
_FEW = (
    "({s}.id = ANY(%(found_streams)s) OR {s}.session_id = ANY(%(found_sessions)s)"
    " OR {s}.requested_model = ANY(%(found_models)s))"
)
# A scalar subquery is evaluated stream by stream, in whatever order the streams come. Index block_ordinal, and the
# primary key of request words.
_MANY = """coalesce(
    (SELECT true FROM records_block AS found
    WHERE found.stream_id = {s}.id AND found.search @@ streamviz_query(%(text)s) LIMIT 1),
    (SELECT true FROM records_requestwords AS asked
    WHERE asked.stream_id = {s}.id AND asked.search @@ streamviz_query(%(text)s)),
    {session} OR {s}.requested_model = ANY(%(found_models)s)
)"""
_SESSION_FOUND = "{s}.session_id = ANY(%(found_sessions)s)"
# For more sessions than are looked up.
_SESSION_MATCHES = """(SELECT to_tsvector('simple'::regconfig, streamviz_words(label || ' ' || name))
    @@ streamviz_query(%(text)s) FROM records_session WHERE id = {s}.session_id)"""


def text_conditions(text: str) -> Conditions:
    """The condition for streams that match a text; an id is taken as a stream's or a session's, ours or its client's.

    Raises SearchTooBroad."""
    if (ids := ids_of(text)) is not None and _are_known(ids):
        called = [row[0] for row in rows(_CALLED, {"name": text.strip()})]
        return Conditions(_IDS, {"first_id": ids.first, "last_id": ids.last, "called": called}, is_few=True)
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


def _are_known(ids: Span) -> bool:
    """Whether these can only be ids. Other things, such as numbers of telephones, are written like short ones."""
    is_whole = ids.first == ids.last
    return is_whole or bool(rows(_IS_ANY, {"first_id": ids.first, "last_id": ids.last})[0][0])


def _is_common(values: Values) -> bool:
    if not (points := _points()):
        return False
    found = _found(_IN_SOME, {**values, "points": points})
    return len(found) >= COMMON and max(found, default=points[-1]) >= points[-1 - SOME // 20]


def _points() -> list[UUID]:
    """Ids at equal intervals of time, from the first stream to the last."""
    [(first, last)] = rows(_ENDS)
    return [] if first is None else [first_id(first + (last - first) * n / (SOME - 1)) for n in range(SOME)]


def _found(statement: str, values: Values) -> list[Any]:
    # For words in many blocks, Postgres would otherwise read blocks from the first on until it has enough matches. A
    # phrase whose words are in nearly every block, but hardly ever in this order, makes it check all of them.
    with limited("enable_seqscan = off"):
        return [row[0] for row in rows(statement, values)]


def as_id(text: str) -> UUID | None:
    """The text as a whole id; None if it is not one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def ids_of(text: str) -> Span | None:
    """The ids that a text stands for: a whole one, or those that begin with a short one. None if it is neither."""
    whole = as_id(text)
    return Span(whole, whole) if whole else beginning_with(text.strip())
