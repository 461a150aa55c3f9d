"""Move a stream, with all that continues from it, to another session, and notify workers.

What limits count moves with the streams. When the last one moves, so does what else belongs to the session: its
annotations, and what it has used in streams that were deleted.
"""

from uuid import UUID

import psycopg

from streamviz.core.json_value import encode
from streamviz.records.columns import as_array
from streamviz.records.ids import ALL, between, day_before
from streamviz.records.moves import CHANNEL, Move
from streamviz.records.request_index import write_again
from streamviz.records.tally_rows import ALONE

# The most characters of a label, or a name, in a notification, which holds at most 8,000 bytes.
_MOST_CHARACTERS = 300
_LOCK_SESSIONS = """
SELECT id, started_at, last_at, is_dated FROM records_session WHERE id = ANY(%s) ORDER BY id FOR UPDATE
"""
# Moves a stream with all that continues from it. Gives what moved.
_MOVE = """
WITH RECURSIVE moved AS (
    SELECT %(stream)s::uuid AS id
    UNION SELECT next.id FROM records_stream AS next JOIN moved ON next.parent = moved.id
    WHERE next.session_id = %(old)s AND next.id >= %(since)s AND NOT next.is_named
) UPDATE records_stream SET session_id = %(new)s WHERE id IN (SELECT id FROM moved) AND id >= %(since)s RETURNING id
"""
_MOVE_WORDS = "UPDATE records_requestwords SET session_id = %(new)s WHERE stream_id = ANY(%(moved)s::uuid[])"
_MERGE = """
UPDATE records_session AS session SET
    started_at = least(session.started_at, other.started_at), last_at = greatest(session.last_at, other.last_at),
    label = coalesce(nullif(session.label, ''), other.label), name = coalesce(nullif(session.name, ''), other.name),
    is_dated = session.is_dated AND other.is_dated
FROM records_session AS other WHERE session.id = %(new)s AND other.id = %(old)s RETURNING session.label, session.name
"""
_IS_EMPTY = """
SELECT NOT EXISTS (SELECT FROM records_stream WHERE session_id = %(old)s AND id BETWEEN %(first)s AND %(last)s)
"""
# Without a label: the old one is made of the stranger's words, and the next stream brings its own.
_BEGIN_SESSION = """
INSERT INTO records_session (id, label, name, key_id, started_at, last_at, is_starred, note, is_dated)
SELECT %(new)s, '', '', session.key_id, stream.requested_at, session.last_at, false, '', session.is_dated
FROM records_session AS session, records_stream AS stream WHERE session.id = %(old)s AND stream.id = %(stream)s
"""
# A session keeps its annotations for as long as it has any streams.
_ANNOTATE = """
UPDATE records_session AS session SET is_starred = session.is_starred OR other.is_starred,
    note = concat_ws(E'\\n', nullif(session.note, ''), nullif(other.note, ''))
FROM records_session AS other WHERE session.id = %(new)s AND other.id = %(old)s
"""
_DROP = "DELETE FROM records_session WHERE id = %(old)s"
# Nobody chose to make the session that it is now part of public.
_DROP_LINKS = "DELETE FROM records_publiclink WHERE session_id = %(old)s"
_COUNT = """
SELECT streamviz_count(%(moved)s::uuid[], %(old)s, -1), streamviz_count(%(moved)s::uuid[], %(new)s, 1)
"""
_ENTRIES = "UPDATE records_use SET session_id = %(new)s WHERE stream_id = ANY(%(moved)s::uuid[])"
_LEFT_ENTRIES = "UPDATE records_use SET session_id = %(new)s WHERE session_id = %(old)s"
_LEFT_TALLIES = "UPDATE records_tally SET session_id = %(new)s WHERE session_id = %(old)s"
_TELL = "SELECT pg_notify(%s, %s)"


def move_stream(cursor: psycopg.Cursor, stream: UUID, old: UUID, new: UUID, *, is_new: bool = False) -> None:
    """Move a stream with all that continues from it to session `new`, which is created for this if `is_new`."""
    if is_new:
        cursor.execute(_BEGIN_SESSION, {"stream": stream, "old": old, "new": new})
    sessions = {row[0]: row[1:] for row in cursor.execute(_LOCK_SESSIONS, [[old, new]])}
    if len(sessions) < 2:
        return  # one was deleted meanwhile: a stream that moved there would have no session
    started_at, last_at, is_dated = sessions[old]
    span = between(started_at, last_at) if is_dated else ALL
    told = {"stream": stream, "old": old, "new": new, "since": day_before(stream), **span._asdict()}
    moved = [row[0] for row in cursor.execute(_MOVE, told)]
    told["moved"] = as_array(moved)
    for statement in (_MOVE_WORDS, _COUNT, _ENTRIES):
        cursor.execute(statement, told)
    row = None if is_new else cursor.execute(_MERGE, told).fetchone()
    if cursor.execute(_IS_EMPTY, told).fetchone() == (True,):
        for statement in (_ANNOTATE, _LEFT_ENTRIES, ALONE, _LEFT_TALLIES, _DROP_LINKS, _DROP):
            cursor.execute(statement, told)
    else:
        write_again(cursor, [old])
    if is_new:
        write_again(cursor, [new])
    label, name = (str(text)[:_MOST_CHARACTERS] for text in row or ("", ""))
    cursor.execute(_TELL, [CHANNEL, encode(Move(stream, old, new, label, name)).decode()])
