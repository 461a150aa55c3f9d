"""Full-text search of blocks and of sessions' labels and names, and errors by what they say."""

# Words are letters and digits alone, so that the parts of a path or of a name with underscores are found, and all of it
# as a phrase; the last word of what is asked for may be the beginning of one.
WORDS = r"""
CREATE FUNCTION streamviz_words(input text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(input, '[^[:alnum:]]+', ' ', 'g')
$$;

CREATE FUNCTION streamviz_query(input text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(to_tsquery('simple', string_agg('(' || replace(words, ' ', ' <-> ') || ':*)', ' & ')), ''::tsquery)
    FROM regexp_split_to_table(input, '\s+') AS term, LATERAL btrim(streamviz_words(term)) AS words
    WHERE words <> ''
$$;
"""
OF_BLOCKS = """
-- A tsvector holds no more than a megabyte: of a longer block the beginning is found.
ALTER TABLE records_block ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (
    to_tsvector(
        'simple'::regconfig,
        streamviz_words(name || ' ' || label || ' ' || upstream_id || ' ' || left(text, 100000))
    )
) STORED;
CREATE INDEX block_search ON records_block USING gin (search);
"""
OF_SESSIONS = """
CREATE INDEX session_search ON records_session
USING gin (to_tsvector('simple'::regconfig, streamviz_words(label || ' ' || name)));
"""
# Quoted words, ids and numbers in them aside.
ERRORS = r"""
CREATE FUNCTION streamviz_error(input text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(btrim(regexp_replace(numbers, '\s+', ' ', 'g')), 160)
    FROM regexp_replace(left(input, 1000), '"[^"]*"|''[^'' ]*''|`[^`]*`', '…', 'g') AS quoted,
        LATERAL regexp_replace(quoted, '\m(?=[a-z_-]*\d)[\w-]{12,}\M', '…', 'gi') AS ids,
        LATERAL regexp_replace(ids, '\d+([.,:]\d+)*', 'N', 'g') AS numbers
$$;
"""
# With what errors are counted by.
OF_ERRORS = """
CREATE INDEX stream_with_error ON records_stream (requested_at DESC, id DESC)
INCLUDE (requested_model, key_id) WHERE error <> ''
"""
