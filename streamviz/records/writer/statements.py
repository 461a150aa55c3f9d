"""The statements that move the journal into Postgres, except COPY. Running one twice has no further effect."""

from streamviz.records.tables import BLOCK, CLOSED, OPENED, SESSION, VERDICT, WHOLE

# What Postgres has of each stream (`pending.Stored`). The lock makes a deletion wait until what is being stored is
# there to be deleted.
MARKS = """
SELECT id, session_id, chunk_count, frame_count, wire_format, (extract(epoch FROM requested_at) * 1000000)::bigint,
    outcome <> ''
FROM records_stream WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE
"""
# Waits for a deletion that has begun; one that begins now waits until what is being stored is there.
LOCK_SESSIONS = "SELECT FROM records_session WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
# Streams that were not stored yet when their session was deleted. `requested` is in µs since the epoch.
DELETE_LATE = """
INSERT INTO records_deletedstream (stream_id, deleted_at)
SELECT stream.id, gone.deleted_at
FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[]) AS stream (id, session_id, requested)
JOIN records_deletedsession AS gone USING (session_id)
WHERE to_timestamp(requested / 1000000.0) <= gone.deleted_at
ON CONFLICT DO NOTHING
"""
# A run's calls are deleted with it. Repeated until no more are found, because a run can be called by another run.
DELETE_CALLS = """
INSERT INTO records_deletedstream (stream_id, deleted_at)
SELECT call.id, run.deleted_at FROM unnest(%s::uuid[], %s::uuid[]) AS call (id, parent)
JOIN records_deletedstream AS run ON run.stream_id = call.parent
ON CONFLICT DO NOTHING
"""
# Another import may be storing the same stream.
WAIT_FOR_IMPORTS = "SELECT pg_advisory_xact_lock(x'494D504F5254'::bigint)"
FORGET_STREAM_DELETIONS = "DELETE FROM records_deletedstream WHERE stream_id = ANY(%s) RETURNING stream_id"
FORGET_SESSION_DELETIONS = "DELETE FROM records_deletedsession WHERE session_id = ANY(%s)"
DELETED = "SELECT stream_id FROM records_deletedstream WHERE stream_id = ANY(%s)"

UPSERT_SESSION = f"""
{SESSION.insert()}
ON CONFLICT (id) DO UPDATE SET
    started_at = least(records_session.started_at, excluded.started_at),
    last_at = greatest(records_session.last_at, excluded.last_at),
    label = coalesce(nullif(records_session.label, ''), excluded.label),
    name = coalesce(nullif(records_session.name, ''), excluded.name),
    is_dated = records_session.is_dated AND excluded.is_dated
"""

# What may have been corrected since a stream began: linking may have moved it, and its key may have been deleted.
_CORRECTED = frozenset({"session_id", "key_id", "parent", "relation", "asked"})
# A stream whose request was not settled at once begins a second time when it is (`StreamOpened`), with all that follows
# from its model. Of a stream that is over, nothing is replaced: its end says more.
INSERT_STREAM = f"""
{OPENED.insert()}
ON CONFLICT (id) DO UPDATE SET {OPENED.replacing(but=_CORRECTED)}
    WHERE records_stream.request = '' AND records_stream.outcome = ''
"""

# A stream that began and ended since the last round: half the work of storing its beginning and its end separately.
INSERT_WHOLE_STREAM = WHOLE.insert()

CLOSE_STREAM = CLOSED.update(greatest=("chunk_count", "frame_count"))

ADVANCE_STREAM = """
UPDATE records_stream SET chunk_count = greatest(chunk_count, %s), frame_count = greatest(frame_count, %s) WHERE id = %s
"""

INSERT_BLOCK = f"{BLOCK.insert()} ON CONFLICT (stream_id, ordinal) DO NOTHING"

INSERT_VERDICT = f"{VERDICT.insert()} ON CONFLICT (stream_id, number) DO NOTHING"

OPEN_STREAMS = "SELECT id FROM records_stream WHERE outcome = '' AND worker = %s ORDER BY id"

STREAM = """
SELECT wire_format, upstream_model, provider, extract(epoch FROM requested_at) * 1000000, request, executor, part
FROM records_stream WHERE id = %s
"""

UPSTREAM_RUNS = """
SELECT first_seq, first_at, offsets, lengths, payload FROM records_upstreamrun WHERE stream_id = %s ORDER BY first_seq
"""

CLIENT_RUNS = """
SELECT first_frame, first_at, offsets, first_seq, origin, lengths, payload
FROM records_clientrun WHERE stream_id = %s ORDER BY first_frame
"""

JUDGED = """
SELECT ordinal, decision = 'halt' OR (subject = 'request' AND decision = 'deny')
FROM records_verdict WHERE stream_id = %s AND mode = 'enforce' AND decision <> 'allow'
"""

# Limits count what these streams came to from the record, and no longer from what their workers had entered.
COUNT = "SELECT streamviz_count(%s, NULL, 1)"
STRIKE = "DELETE FROM records_use WHERE stream_id = ANY(%s)"
# Of a worker that is gone, whose journal is stored to its end: what never began, or was deleted, never gets an end.
# What was set aside may yet be stored.
STRIKE_LEFT = "DELETE FROM records_use WHERE worker = %s AND NOT is_over AND stream_id <> ALL(%s)"
