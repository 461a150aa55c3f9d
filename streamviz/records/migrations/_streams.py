"""How streams are stored and sampled, and who is told of changes to what an operator sets up."""

# What figures of many streams are estimated from is one in 16, or fewer of those, which their ids say. Requests lie
# beside the rows, which are read far more often than those; a Postgres without lz4 compresses with its own method.
STORAGE = """
CREATE INDEX stream_sample ON records_stream (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, output_tokens, upstream_first_at, client_first_at,
    ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16;
ALTER TABLE records_stream SET (toast_tuple_target = 512, fillfactor = 90);
DO $$
BEGIN
    ALTER TABLE records_stream ALTER COLUMN request SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
"""

NOTIFY = """
CREATE FUNCTION streamviz_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('streamviz_changed', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_apikey
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_route
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_policy
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
"""
