"""Tokens with their parts: added up by the half hour, and in place of the providers' own counts."""

from typing import Any

from streamviz.core.tokens import Tokens, tokens_of

ADD_UP = """
CREATE OR REPLACE FUNCTION streamviz_add_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.outcome <> '' THEN
        INSERT INTO records_halfhour (
            requested_at, requested_model, provider, key_id, outcome,
            streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens, estimated
        ) VALUES (
            streamviz_half_hour(OLD.requested_at), OLD.requested_model, OLD.provider, OLD.key_id, OLD.outcome,
            -1, -coalesce(OLD.input_tokens, 0), -coalesce(OLD.output_tokens, 0), -coalesce(OLD.cost, 0),
            -num_nonnulls(OLD.input_tokens), -num_nonnulls(OLD.output_tokens), -num_nonnulls(OLD.cost),
            -coalesce(OLD.cache_read_tokens, 0), -OLD.is_estimated::int
        );
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.outcome <> '' THEN
        INSERT INTO records_halfhour (
            requested_at, requested_model, provider, key_id, outcome,
            streams, input_tokens, output_tokens, cost, reported_input, reported, priced, cached_tokens, estimated
        ) VALUES (
            streamviz_half_hour(NEW.requested_at), NEW.requested_model, NEW.provider, NEW.key_id, NEW.outcome,
            1, coalesce(NEW.input_tokens, 0), coalesce(NEW.output_tokens, 0), coalesce(NEW.cost, 0),
            num_nonnulls(NEW.input_tokens), num_nonnulls(NEW.output_tokens), num_nonnulls(NEW.cost),
            coalesce(NEW.cache_read_tokens, 0), NEW.is_estimated::int
        );
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER streamviz_ended ON records_stream;
CREATE TRIGGER streamviz_ended AFTER UPDATE ON records_stream
    FOR EACH ROW WHEN (
        (OLD.requested_at, OLD.requested_model, OLD.provider, OLD.key_id, OLD.outcome, OLD.input_tokens,
            OLD.output_tokens, OLD.cost, OLD.cache_read_tokens, OLD.is_estimated)
        IS DISTINCT FROM
        (NEW.requested_at, NEW.requested_model, NEW.provider, NEW.key_id, NEW.outcome, NEW.input_tokens,
            NEW.output_tokens, NEW.cost, NEW.cache_read_tokens, NEW.is_estimated)
    ) EXECUTE FUNCTION streamviz_add_up();
"""
# As `core/unasked_usage.py` takes it off. NULL where there is nothing to be taken off.
WITHOUT_USAGE = """
CREATE FUNCTION streamviz_without_usage(raw bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    member bytea;
    at int;
BEGIN
    FOREACH member IN ARRAY ARRAY[',"usage":null'::bytea, ', "usage": null'::bytea] LOOP
        at := position(member IN raw);
        IF at > 0 AND position(member IN substring(raw FROM at + 1)) = 0 THEN
            RETURN overlay(raw PLACING ''::bytea FROM at FOR length(member));
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE FUNCTION streamviz_chunk(of_stream uuid, wanted int) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT substring(
        payload
        FROM (SELECT coalesce(sum(length), 0) FROM unnest(lengths[1:wanted - first_seq]) AS length)::int + 1
        FOR lengths[wanted - first_seq + 1]
    )
    FROM records_upstreamrun WHERE stream_id = of_stream AND first_seq <= wanted ORDER BY first_seq DESC LIMIT 1
$$;

CREATE OR REPLACE VIEW records_frame AS
SELECT
    run.stream_id,
    run.first_frame + item.n - 1 AS number,
    timestamptz 'epoch' + (run.first_at + item.later) * interval '1 microsecond' AS sent_at,
    run.first_seq + item.n - 1 AS seq,
    CASE WHEN run.first_seq IS NULL THEN run.origin ELSE 'upstream' END AS origin,
    CASE
        WHEN run.first_seq IS NULL
        THEN substring(whole.payload FROM (item.ends - item.length + 1)::int FOR item.length)
        WHEN (SELECT hides_usage FROM records_stream WHERE id = run.stream_id)
        THEN streamviz_without_usage(streamviz_chunk(run.stream_id, (run.first_seq + item.n - 1)::int))
    END AS made
FROM records_clientrun AS run
CROSS JOIN LATERAL (SELECT run.payload || ''::bytea AS payload OFFSET 0) AS whole
CROSS JOIN LATERAL (
    SELECT n, later, length, sum(length) OVER (ORDER BY n) AS ends
    FROM unnest(run.offsets, run.lengths) WITH ORDINALITY AS each(later, length, n)
) AS item;
"""
_AT_ONCE = 1_000
_PARTS = ("cache_read_tokens", "cache_written_tokens", "reasoning_tokens")


def count_anew(apps: Any, editor: Any) -> None:
    """Streams whose providers told of parts get these, all input as their input, all output as their output, and what
    that costs by the price map of now."""
    streams = apps.get_model("records", "Stream").objects.using(editor.connection.alias)
    found = streams.filter(usage__isnull=False).only("upstream_model", "provider", "usage", "input_tokens", "cost")
    changed: list[Any] = []
    for stream in found.iterator(chunk_size=_AT_ONCE):
        if isinstance(stream.usage, dict) and _count(stream, tokens_of(stream.usage)):
            changed.append(stream)
        if len(changed) >= _AT_ONCE:
            _store(streams, changed)
    _store(streams, changed)


def _count(stream: Any, tokens: Tokens) -> bool:
    """Set what is known now of a stream; False where that is no more than was known."""
    if not (tokens.cache_read or tokens.cache_written or tokens.reasoning):
        return False
    from streamviz.upstream.prices import price

    stream.input_tokens, stream.output_tokens = tokens.input, tokens.output
    stream.cache_read_tokens, stream.cache_written_tokens = tokens.cache_read, tokens.cache_written
    stream.reasoning_tokens = tokens.reasoning
    if stream.cost is not None:
        stream.cost = price(stream.upstream_model, stream.provider, tokens)
    return True


def _store(streams: Any, changed: list[Any]) -> None:
    streams.bulk_update(changed, ["input_tokens", "output_tokens", "cost", *_PARTS])
    changed.clear()
