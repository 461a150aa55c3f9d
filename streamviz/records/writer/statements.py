"""The statements that move the journal into Postgres, but for COPY's. Run twice they change nothing more."""

# How far each stream is stored. The lock keeps a deletion waiting until what is being stored is there to be deleted.
MARKS = "SELECT id, chunk_count, frame_count FROM records_stream WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
DELETED = "SELECT stream_id FROM records_deletedstream WHERE stream_id = ANY(%s)"

UPSERT_SESSION = """
INSERT INTO records_session (id, label, key_id, started_at, last_at, is_starred, note)
VALUES (%s, %s, %s, %s, %s, false, '')
ON CONFLICT (id) DO UPDATE SET
    started_at = least(records_session.started_at, excluded.started_at),
    last_at = greatest(records_session.last_at, excluded.last_at),
    label = coalesce(nullif(records_session.label, ''), excluded.label)
"""

INSERT_STREAM = """
INSERT INTO records_stream (
    id, session_id, key_id, client, user_agent, endpoint, wire_format, is_streaming, requested_model, upstream_model,
    provider, requested_at, request, worker, outcome, finish_reason, error, chunk_count, frame_count, block_count,
    not_run
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '', '', '', 0, 0, 0, %s)
ON CONFLICT (id) DO UPDATE SET request = excluded.request WHERE records_stream.request = ''
"""

CLOSE_STREAM = """
UPDATE records_stream SET
    upstream_model = %s, provider = %s, outcome = %s, finish_reason = %s, status = %s, error = %s,
    usage = %s, input_tokens = %s, output_tokens = %s,
    cost = %s, chunk_count = greatest(chunk_count, %s), frame_count = greatest(frame_count, %s),
    block_count = %s, upstream_first_at = %s, client_first_at = %s,
    ended_at = %s, itl_p50_us = %s, itl_p95_us = %s, client_waits = %s
WHERE id = %s
"""

ADVANCE_STREAM = """
UPDATE records_stream SET chunk_count = greatest(chunk_count, %s), frame_count = greatest(frame_count, %s) WHERE id = %s
"""

INSERT_BLOCK = """
INSERT INTO records_block (
    stream_id, ordinal, kind, choice, index, upstream_id, name, label, text, length, signature, first_seq, last_seq,
    started_at, completed_at, held_at, released_at, held_by, is_truncated
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (stream_id, ordinal) DO NOTHING
"""

INSERT_VERDICT = """
INSERT INTO records_verdict (
    stream_id, number, ordinal, policy_version_id, mode, decision, reason, failure, at, took_us, subject,
    evidence, by, client_had
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (stream_id, number) DO NOTHING
"""

OPEN_STREAMS = "SELECT id FROM records_stream WHERE outcome = '' AND worker = %s ORDER BY id"

STREAM = """
SELECT wire_format, upstream_model, provider, extract(epoch FROM requested_at) * 1000000
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
