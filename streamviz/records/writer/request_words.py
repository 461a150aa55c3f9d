"""Storing the words of requests, so that they can be searched for."""

from collections.abc import Sequence

import psycopg

from streamviz.records.columns import clean
from streamviz.records.request_words import RequestText, searched
from streamviz.records.writer.pending import Batch

KNOWN = "SELECT DISTINCT session_id, standing FROM records_requestwords WHERE session_id = ANY(%s)"
INSERT = """
INSERT INTO records_requestwords (stream_id, session_id, standing, search)
VALUES (%s, %s, %s, to_tsvector('simple'::regconfig, streamviz_words(%s)))
ON CONFLICT (stream_id) DO NOTHING
"""


def write_request_words(cursor: psycopg.Cursor, batches: Sequence[Batch]) -> None:
    """Of the streams that began. A request that is not kept has none."""
    opened = [batch.opened for batch in batches if batch.opened and batch.opened.request]
    if not opened:
        return
    known = set(cursor.execute(KNOWN, [[entry.session_id for entry in opened]]).fetchall())
    sessions = {session_id for session_id, _ in known}
    rows = []
    for entry in opened:
        request = RequestText(entry.request, entry.wire_format)
        of_session = entry.session_id, request.standing
        text = searched(request, is_first=entry.session_id not in sessions, is_known=of_session in known)
        rows.append((entry.stream_id, *of_session, clean(text)))
        known.add(of_session)
        sessions.add(entry.session_id)
    cursor.executemany(INSERT, rows)
