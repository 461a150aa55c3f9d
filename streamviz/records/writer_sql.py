"""The statements that move entries into Postgres. Each can be run twice with the same rows and changes nothing then."""

UPSERT_SESSION = """
INSERT INTO records_session (id, label, key_id, started_at, last_at) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET last_at = greatest(records_session.last_at, excluded.last_at)
"""

INSERT_STREAM = """
INSERT INTO records_stream (
    id, session_id, key_id, client, user_agent, endpoint, wire_format, is_streaming, requested_model, requested_at,
    request, upstream_model, provider, outcome, finish_reason, error, chunk_count, frame_count, block_count,
    not_run
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '', '', '', '', '', 0, 0, 0, '[]')
ON CONFLICT (id) DO NOTHING
"""

CLOSE_STREAM = """
UPDATE records_stream SET
    upstream_model = %s, provider = %s, outcome = %s, finish_reason = %s, status = %s, error = %s, usage = %s,
    input_tokens = %s, output_tokens = %s, cost = %s, chunk_count = %s, frame_count = %s, block_count = %s,
    upstream_first_at = %s, client_first_at = %s, ended_at = %s, itl_p50_us = %s, itl_p95_us = %s,
    not_run = %s
WHERE id = %s
"""

# A batch whose commit was not heard of is tried again together with what came since: its last run is longer then.
INSERT_UPSTREAM_RUN = """
INSERT INTO records_upstreamrun (stream_id, first_seq, received_at, lengths, payload) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (stream_id, first_seq) DO UPDATE SET
    received_at = excluded.received_at, lengths = excluded.lengths, payload = excluded.payload
WHERE cardinality(excluded.lengths) > cardinality(records_upstreamrun.lengths)
"""

INSERT_CLIENT_RUN = """
INSERT INTO records_clientrun (stream_id, first_frame, sent_at, seqs, origins, lengths, payload)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (stream_id, first_frame) DO UPDATE SET
    sent_at = excluded.sent_at, seqs = excluded.seqs, origins = excluded.origins, lengths = excluded.lengths,
    payload = excluded.payload
WHERE cardinality(excluded.lengths) > cardinality(records_clientrun.lengths)
"""

INSERT_BLOCK = """
INSERT INTO records_block (
    stream_id, ordinal, kind, choice, index, upstream_id, name, label, text, signature, first_seq, last_seq,
    started_at, completed_at, held_at, released_at, held_by, is_truncated
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (stream_id, ordinal) DO NOTHING
"""

INSERT_VERDICT = """
INSERT INTO records_verdict (
    stream_id, number, ordinal, policy_version_id, mode, decision, reason, failure, at, took_us, subject,
    evidence, by, client_had
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (stream_id, number) DO NOTHING
"""
