"""The table of request words, which searches look through."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

import msgspec
import psycopg
from django.db.backends.utils import CursorWrapper

from streamviz.core.json_value import encode
from streamviz.records.columns import as_array, clean
from streamviz.records.ids import around
from streamviz.records.request_words import RequestText, searched

# A session that rested for longer begins anew: its words are stored again, and fewer partitions have to be searched.
_LONGEST_REST_DAYS = 30
# The column `standing` has the digest of a request's preamble.
KNOWN = """
SELECT DISTINCT ON (session_id, standing) session_id, standing, stream_id FROM records_requestwords
WHERE session_id = ANY(%s) AND stream_id >= %s ORDER BY session_id, standing, stream_id
"""
INSERT = """
INSERT INTO records_requestwords (stream_id, session_id, standing, search)
SELECT told.stream_id, told.session_id, told.preamble, to_tsvector('simple'::regconfig, streamviz_words(told.text))
FROM json_to_recordset(%s) AS told (stream_id uuid, session_id uuid, preamble bigint, text text)
ON CONFLICT (stream_id) DO NOTHING
"""
# The oldest remaining stream of each session and each preamble in it.
_OLDEST = """
SELECT DISTINCT ON (session_id, standing) stream_id, session_id FROM records_requestwords
WHERE session_id = ANY(%s) ORDER BY session_id, standing, stream_id
"""
_REQUESTS = "SELECT id, request, wire_format FROM records_stream WHERE id = ANY(%s) FOR KEY SHARE"
_UPDATE = """
UPDATE records_requestwords AS asked SET search = to_tsvector('simple'::regconfig, streamviz_words(told.text))
FROM json_to_recordset(%s) AS told (stream_id uuid, text text) WHERE asked.stream_id = told.stream_id
"""
# Uses the indexes of both primary keys. The lock keeps streams from being deleted while their words are written.
_WITHOUT = """
SELECT s.id, s.session_id, s.request, s.wire_format FROM records_stream AS s
WHERE s.id > %s AND octet_length(s.request) > 0
    AND NOT EXISTS (SELECT FROM records_requestwords AS asked WHERE asked.stream_id = s.id)
ORDER BY s.id LIMIT %s FOR KEY SHARE OF s
"""
# How many requests are in memory at once; they may be long.
AT_ONCE = 20
FIRST = UUID(int=0)


Cursor = psycopg.Cursor | CursorWrapper


class StoredRequest(NamedTuple):
    """A stream's request, and its session."""

    stream_id: UUID
    session_id: UUID
    request: bytes
    wire_format: str


class _Row(msgspec.Struct):
    """The parameters of INSERT."""

    stream_id: UUID
    session_id: UUID
    preamble: int
    text: str


def write_words(cursor: psycopg.Cursor, requests: Sequence[StoredRequest]) -> None:
    """Write the words of requests, whose sessions may have some already. Raises psycopg.Error."""
    if not requests:
        return
    known = set[tuple[UUID, int]]()
    earliest = dict[UUID, UUID]()
    since = around([each.stream_id for each in requests], _LONGEST_REST_DAYS).first
    sessions = as_array(each.session_id for each in requests)
    for session_id, preamble, stream_id in cursor.execute(KNOWN, [sessions, since]):
        known.add((session_id, preamble))
        earliest[session_id] = min(stream_id, earliest.get(session_id, stream_id))
    rows = []
    for each in requests:
        request = RequestText(each.request, each.wire_format)
        of_session = each.session_id, request.preamble_digest
        first = earliest[each.session_id] = min(each.stream_id, earliest.get(each.session_id, each.stream_id))
        text = searched(request, is_first=first == each.stream_id, is_known=of_session in known)
        rows.append(_Row(each.stream_id, *of_session, clean(text)))
        known.add(of_session)
    cursor.execute(INSERT, [encode(rows).decode()])


def write_again(cursor: Cursor, sessions: Sequence[UUID]) -> None:
    """Rewrite the words of sessions that lost streams: the oldest remaining ones get words that the lost ones had."""
    cursor.execute(_OLDEST, [as_array(sessions)])
    oldest = dict[UUID, UUID](cursor.fetchall())
    first = dict[UUID, UUID]()
    for stream_id, session_id in oldest.items():
        first[session_id] = min(stream_id, first.get(session_id, stream_id))
    _write_whole(cursor, sorted(oldest), set(first.values()))


def _write_whole(cursor: Cursor, streams: Sequence[UUID], firsts: Collection[UUID]) -> None:
    """Write all words of these streams, without what was said before them; with that, too, for those in `firsts`."""
    for at in range(0, len(streams), AT_ONCE):
        cursor.execute(_REQUESTS, [as_array(streams[at : at + AT_ONCE])])
        told = [
            {
                "stream_id": id,
                "text": clean(searched(RequestText(request, wire_format), is_first=id in firsts, is_known=False)),
            }
            for id, request, wire_format in cursor.fetchall()
        ]
        cursor.execute(_UPDATE, [encode(told).decode()])


def fill_in(connection: psycopg.Connection, after: UUID) -> UUID | None:
    """Write the words of the next streams after this one that were stored before requests could be searched; gives the
    last of them, None if there are no more. Raises psycopg.Error."""
    with connection.transaction(), connection.cursor() as cursor:
        found = [StoredRequest(*row) for row in cursor.execute(_WITHOUT, [after, AT_ONCE])]
        write_words(cursor, found)
    return found[-1].stream_id if found else None
