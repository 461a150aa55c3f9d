"""Full-text search of blocks and of sessions' labels."""

# Words are letters and digits alone, so that the parts of a path or of a name with underscores are found, and all of it
# as a phrase; the last word of what is asked for may be the beginning of one.
SEARCH = r"""
CREATE FUNCTION streamviz_words(input text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(input, '[^[:alnum:]]+', ' ', 'g')
$$;

CREATE FUNCTION streamviz_query(input text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(to_tsquery('simple', string_agg('(' || replace(words, ' ', ' <-> ') || ':*)', ' & ')), ''::tsquery)
    FROM regexp_split_to_table(input, '\s+') AS term, LATERAL btrim(streamviz_words(term)) AS words
    WHERE words <> ''
$$;

-- A tsvector holds no more than a megabyte: of a longer block the beginning is found.
ALTER TABLE records_block ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (
    to_tsvector(
        'simple'::regconfig,
        streamviz_words(name || ' ' || label || ' ' || upstream_id || ' ' || left(text, 100000))
    )
) STORED;
CREATE INDEX block_search ON records_block USING gin (search);
CREATE INDEX session_search ON records_session USING gin (to_tsvector('simple'::regconfig, streamviz_words(label)));
"""
