-- What the migrations 0016 to 0049 of before the first release did to `former.sql`, each after its name. What they
-- did concurrently is done at once, and 2026-12-14 is the end of their past.

-- 0016_tokens
ALTER TABLE "records_halfhour" ADD COLUMN "cached_tokens" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "records_halfhour" ALTER COLUMN "cached_tokens" DROP DEFAULT;
ALTER TABLE "records_halfhour" ADD COLUMN "estimated" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "records_halfhour" ALTER COLUMN "estimated" DROP DEFAULT;
ALTER TABLE "records_stream" ADD COLUMN "cache_read_tokens" bigint NULL;
ALTER TABLE "records_stream" ADD COLUMN "cache_written_tokens" bigint NULL;
ALTER TABLE "records_stream" ADD COLUMN "reasoning_tokens" bigint NULL;
ALTER TABLE "records_stream" ADD COLUMN "is_estimated" boolean DEFAULT false NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "is_estimated" DROP DEFAULT;
ALTER TABLE "records_stream" ADD COLUMN "hides_usage" boolean DEFAULT false NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "hides_usage" DROP DEFAULT;
DROP INDEX IF EXISTS "stream_newest";
CREATE INDEX "stream_newest" ON "records_stream" ("requested_at" DESC, "id" DESC) INCLUDE ("outcome", "requested_model", "provider", "key_id", "session_id", "input_tokens", "output_tokens", "cost", "ended_at", "cache_read_tokens", "is_estimated");
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

-- 0017_conversations
ALTER TABLE "records_stream" ADD COLUMN "asked" bigint[] DEFAULT '{}' NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "asked" DROP DEFAULT;
ALTER TABLE "records_stream" ADD COLUMN "is_named" boolean DEFAULT false NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "is_named" DROP DEFAULT;
ALTER TABLE "records_stream" ADD COLUMN "marks" bigint[] DEFAULT '{}' NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "marks" DROP DEFAULT;
ALTER TABLE "records_stream" ADD COLUMN "parent" uuid NULL;
ALTER TABLE "records_stream" ADD COLUMN "relation" varchar(10) DEFAULT '' NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "relation" DROP DEFAULT;
CREATE INDEX "stream_of_parent" ON "records_stream" ("parent") WHERE "parent" IS NOT NULL;
CREATE INDEX "stream_by_mark" ON "records_stream" USING gin ("marks") WITH (fastupdate = off) WHERE NOT ("marks" = '{}'::bigint[]);
CREATE INDEX "stream_asking" ON "records_stream" USING gin ("asked") WITH (fastupdate = off) WHERE NOT ("asked" = '{}'::bigint[]);

-- 0018_settle_moved
CREATE OR REPLACE FUNCTION streamviz_settle(
    of_session uuid, of_stream uuid, more_streams bigint, more_blocks bigint, more_calls bigint, more_tokens bigint,
    more_cost double precision, was_estimate boolean, more_unpriced bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The writer may have moved it since it began.
    of_session := coalesce((SELECT session_id FROM records_reservation WHERE stream_id = of_stream), of_session);
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    DELETE FROM records_reservation WHERE stream_id = of_stream;
    IF FOUND THEN
        UPDATE records_sessiontally SET streams = streams + more_streams, blocks = blocks + more_blocks,
            tool_calls = tool_calls + more_calls, output_tokens = output_tokens + more_tokens,
            cost = cost + more_cost, is_estimate = is_estimate OR was_estimate, unpriced = unpriced + more_unpriced,
            touched_at = now()
        WHERE session_id = of_session;
    END IF;
END $$;

-- 0019_left_out
ALTER TABLE "records_stream" ADD COLUMN "left_out" text DEFAULT '' NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "left_out" DROP DEFAULT;

-- 0020_session_name
ALTER TABLE "records_session" ADD COLUMN "name" text DEFAULT '' NOT NULL;
ALTER TABLE "records_session" ALTER COLUMN "name" DROP DEFAULT;
UPDATE records_session AS session SET name = label, label = ''
WHERE EXISTS (SELECT FROM records_stream WHERE session_id = session.id AND is_named);
CREATE INDEX "session_name" ON "records_session" USING hash ("name");
DROP INDEX session_search;
CREATE INDEX session_search ON records_session
USING gin (to_tsvector('simple'::regconfig, streamviz_words(label || ' ' || name)));

-- 0021_public_links
CREATE TABLE "records_publiclink" ("id" bigint NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, "digest" varchar(64) NOT NULL UNIQUE, "created_at" timestamp with time zone NOT NULL, "expires_at" timestamp with time zone NOT NULL, "revoked_at" timestamp with time zone NULL, "created_by_id" integer NULL, "session_id" uuid NULL, "stream_id" uuid NULL, CONSTRAINT "public_link_of_one" CHECK ((("session_id" IS NULL AND "stream_id" IS NOT NULL) OR ("session_id" IS NOT NULL AND "stream_id" IS NULL))));
ALTER TABLE "records_publiclink" ADD CONSTRAINT "records_publiclink_created_by_id_9463dca3_fk_auth_user_id" FOREIGN KEY ("created_by_id") REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX "records_publiclink_digest_dc76febc_like" ON "records_publiclink" ("digest" varchar_pattern_ops);
CREATE INDEX "records_publiclink_created_by_id_9463dca3" ON "records_publiclink" ("created_by_id");
CREATE INDEX "records_publiclink_session_id_1ef413ca" ON "records_publiclink" ("session_id");
CREATE INDEX "records_publiclink_stream_id_aa6e902c" ON "records_publiclink" ("stream_id");

-- 0022_request_words
CREATE TABLE "records_requestwords" ("stream_id" uuid NOT NULL PRIMARY KEY, "session_id" uuid NOT NULL, "standing" bigint NOT NULL, "search" tsvector NOT NULL);
ALTER TABLE records_requestwords ADD CONSTRAINT request_words_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE;
CREATE INDEX "request_words_of_session" ON "records_requestwords" ("session_id", "standing");
CREATE INDEX "request_words_search" ON "records_requestwords" USING gin ("search");

-- 0023_lint_notes
CREATE TABLE "records_lintnote" ("rule" varchar(40) NOT NULL, "seq" integer NOT NULL CHECK ("seq" >= 0), "times" integer NOT NULL CHECK ("times" >= 0), "at" timestamp with time zone NOT NULL, "provider" varchar(100) NOT NULL, "model" text NOT NULL, "stream_id" uuid NOT NULL, PRIMARY KEY ("stream_id", "rule"));
ALTER TABLE records_lintnote ADD CONSTRAINT lint_note_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE;
CREATE INDEX "lint_note_at" ON "records_lintnote" ("at") INCLUDE ("provider", "model", "rule", "times");

-- 0024_errors
CREATE FUNCTION streamviz_error(input text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(btrim(regexp_replace(numbers, '\s+', ' ', 'g')), 160)
    FROM regexp_replace(left(input, 1000), '"[^"]*"|''[^'' ]*''|`[^`]*`', '…', 'g') AS quoted,
        LATERAL regexp_replace(quoted, '\m(?=[a-z_-]*\d)[\w-]{12,}\M', '…', 'gi') AS ids,
        LATERAL regexp_replace(ids, '\d+([.,:]\d+)*', 'N', 'g') AS numbers
$$;
CREATE INDEX stream_with_error ON records_stream (requested_at DESC, id DESC)
INCLUDE (requested_model, key_id) WHERE error <> '';

-- 0025_saved_views
CREATE TABLE "records_savedview" ("id" bigint NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, "name" varchar(60) NOT NULL, "page" varchar(20) NOT NULL, "query" varchar(1000) NOT NULL, "user_id" integer NOT NULL, CONSTRAINT "view_name" UNIQUE ("user_id", "name"));
ALTER TABLE "records_savedview" ADD CONSTRAINT "records_savedview_user_id_c371faf8_fk_auth_user_id" FOREIGN KEY ("user_id") REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX "records_savedview_user_id_c371faf8" ON "records_savedview" ("user_id");

-- 0026_default_provider
ALTER TABLE "records_apikey" ADD COLUMN "default_provider" varchar(200) DEFAULT '' NOT NULL;

-- 0027_annotations
CREATE TABLE "records_annotation" ("stream_id" uuid NOT NULL PRIMARY KEY, "is_starred" boolean NOT NULL, "note" text NOT NULL, "labels" text[] NOT NULL);
ALTER TABLE records_annotation ADD CONSTRAINT annotation_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE;
CREATE INDEX "stream_starred" ON "records_annotation" ("stream_id") WHERE "is_starred";
CREATE INDEX "stream_labels" ON "records_annotation" USING gin ("labels");

-- 0028_not_run
CREATE INDEX "stream_not_run" ON "records_stream" ("requested_at") WHERE NOT ("not_run" = '[]'::jsonb);

-- 0029_downloads
CREATE TABLE "records_download" ("id" uuid NOT NULL PRIMARY KEY, "streams" integer NOT NULL CHECK ("streams" >= 0), "total" integer NULL CHECK ("total" >= 0), "is_whole" boolean NOT NULL, "updated_at" timestamp with time zone NOT NULL, "user_id" integer NOT NULL);
ALTER TABLE "records_download" ADD CONSTRAINT "records_download_user_id_b17c33f6_fk_auth_user_id" FOREIGN KEY ("user_id") REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX "records_download_user_id_b17c33f6" ON "records_download" ("user_id");

-- 0030_stalls
CREATE TABLE "records_stall" ("cause" varchar(10) NOT NULL, "times" integer NOT NULL CHECK ("times" >= 0), "lasted_us" bigint NOT NULL, "at" timestamp with time zone NOT NULL, "stream_id" uuid NOT NULL, PRIMARY KEY ("stream_id", "cause"));
ALTER TABLE records_stall ADD CONSTRAINT stall_of_stream
FOREIGN KEY (stream_id) REFERENCES records_stream (id) ON DELETE CASCADE;
CREATE INDEX "stall_at" ON "records_stall" ("at") INCLUDE ("cause", "times", "stream_id");

-- 0031_reserved_by_period
ALTER TABLE records_reservation ADD COLUMN period varchar(5) NOT NULL DEFAULT '';
ALTER TABLE records_reservation ALTER COLUMN period DROP DEFAULT, DROP CONSTRAINT records_reservation_pkey,
    ADD CONSTRAINT records_reservation_pkey PRIMARY KEY (stream_id, period);
DROP FUNCTION streamviz_reserve(uuid, uuid, uuid, bigint, double precision);
DROP FUNCTION streamviz_settle(uuid, uuid, bigint, bigint, bigint, bigint, double precision, boolean, bigint);
CREATE FUNCTION streamviz_reserve(
    of_session uuid, of_stream uuid, of_worker uuid, most_tokens bigint, most_cost double precision, of_period text
) RETURNS TABLE (
    began_at bigint, streams bigint, blocks bigint, tool_calls bigint, output_tokens bigint, cost double precision,
    is_estimate boolean, unpriced bigint, running bigint, reserved_tokens bigint, reserved_cost double precision,
    unbounded bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    IF NOT FOUND THEN
        -- What the record has of the session from before it was counted.
        INSERT INTO records_sessiontally
        SELECT of_session, coalesce(min(stream.requested_at), now()), now(), count(*),
            coalesce(sum(stream.block_count), 0), coalesce(sum(told.calls), 0),
            coalesce(sum(coalesce(stream.output_tokens, told.length / 4)), 0), coalesce(sum(stream.cost), 0),
            coalesce(bool_or(stream.output_tokens IS NULL AND stream.block_count > 0), false), 0
        FROM records_stream AS stream CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE kind = 'tool_call') AS calls, coalesce(sum(length), 0) AS length
            FROM records_block WHERE stream_id = stream.id
        ) AS told
        WHERE stream.session_id = of_session AND stream.outcome <> ''
        ON CONFLICT DO NOTHING;
        PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    END IF;
    -- Streams of workers that are gone came to what the record says, or to what was reserved where it says nothing.
    WITH gone AS (
        DELETE FROM records_reservation
        WHERE session_id = of_session AND seen_at < now() - interval '2 minutes' RETURNING *
    ), told AS (
        SELECT count(*) AS streams, coalesce(sum(stream.block_count), 0) AS blocks,
            coalesce(sum((
                SELECT count(*) FROM records_block WHERE stream_id = gone.stream_id AND kind = 'tool_call'
            )), 0) AS calls,
            coalesce(sum(coalesce(stream.output_tokens, gone.output_tokens, 0)), 0) AS output_tokens,
            coalesce(sum(coalesce(stream.cost::double precision, gone.cost, 0)), 0) AS cost
        FROM gone LEFT JOIN records_stream AS stream ON stream.id = gone.stream_id
    )
    UPDATE records_sessiontally AS tally SET streams = tally.streams + told.streams,
        blocks = tally.blocks + told.blocks, tool_calls = tally.tool_calls + told.calls,
        output_tokens = tally.output_tokens + told.output_tokens, cost = tally.cost + told.cost,
        is_estimate = true, touched_at = now()
    FROM told WHERE tally.session_id = of_session AND told.streams > 0;
    RETURN QUERY SELECT (extract(epoch FROM tally.began_at) * 1000000)::bigint, tally.streams, tally.blocks,
        tally.tool_calls, tally.output_tokens, tally.cost, tally.is_estimate, tally.unpriced, count(other.stream_id),
        coalesce(sum(other.output_tokens), 0)::bigint, coalesce(sum(other.cost), 0),
        count(other.stream_id) FILTER (WHERE other.output_tokens IS NULL)
    FROM records_sessiontally AS tally LEFT JOIN records_reservation AS other
        ON other.session_id = tally.session_id AND other.stream_id <> of_stream
    WHERE tally.session_id = of_session GROUP BY tally.session_id;
    INSERT INTO records_reservation (stream_id, period, session_id, worker, seen_at, output_tokens, cost)
    VALUES (of_stream, of_period, of_session, of_worker, now(), most_tokens, most_cost)
    ON CONFLICT (stream_id, period) DO UPDATE SET output_tokens = most_tokens, cost = most_cost;
END $$;
CREATE FUNCTION streamviz_settle(
    of_session uuid, of_stream uuid, more_streams bigint, more_blocks bigint, more_calls bigint, more_tokens bigint,
    more_cost double precision, was_estimate boolean, more_unpriced bigint, of_period text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The writer may have moved it to another session since it began.
    of_session := coalesce(
        (SELECT session_id FROM records_reservation WHERE stream_id = of_stream AND period = of_period), of_session
    );
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    DELETE FROM records_reservation WHERE stream_id = of_stream AND period = of_period;
    IF FOUND THEN
        UPDATE records_sessiontally SET streams = streams + more_streams, blocks = blocks + more_blocks,
            tool_calls = tool_calls + more_calls, output_tokens = output_tokens + more_tokens,
            cost = cost + more_cost, is_estimate = is_estimate OR was_estimate, unpriced = unpriced + more_unpriced,
            touched_at = now()
        WHERE session_id = of_session;
    END IF;
END $$;

-- 0032_request_headers
ALTER TABLE "records_stream" ADD COLUMN "request_headers" jsonb DEFAULT '{}'::jsonb NOT NULL;
ALTER TABLE "records_stream" ALTER COLUMN "request_headers" DROP DEFAULT;

-- 0033_runs
ALTER TABLE "records_apikey" ADD COLUMN "may_choose_executor" boolean DEFAULT false NOT NULL;
ALTER TABLE "records_route" ADD COLUMN "executor" varchar(50) DEFAULT 'passthrough' NOT NULL;
ALTER TABLE "records_route" ADD COLUMN "parameters" jsonb DEFAULT '{}'::jsonb NOT NULL;
ALTER TABLE "records_route" ADD COLUMN "version" integer DEFAULT 0 NOT NULL CHECK ("version" >= 0);
ALTER TABLE "records_stream" ADD COLUMN "executor" text DEFAULT '' NOT NULL;
ALTER TABLE "records_stream" ADD COLUMN "part" text DEFAULT '' NOT NULL;
CREATE TABLE "records_routeversion" ("id" bigint NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, "target" varchar(200) NOT NULL, "base_url" varchar(500) NOT NULL, "credential" varchar(100) NOT NULL, "executor" varchar(50) DEFAULT 'passthrough' NOT NULL, "parameters" jsonb DEFAULT '{}'::jsonb NOT NULL, "number" integer NOT NULL CHECK ("number" >= 0), "changed_at" timestamp with time zone NOT NULL, "reason" varchar(500) NOT NULL, "changed_by_id" integer NULL, "route_id" bigint NOT NULL);
INSERT INTO records_routeversion
    (route_id, number, target, base_url, credential, executor, parameters, changed_at, reason)
SELECT id, 1, target, base_url, credential, executor, parameters, now(), '' FROM records_route;
UPDATE records_route SET version = 1;
ALTER TABLE "records_routeversion" ADD CONSTRAINT "records_routeversion_changed_by_id_b2905504_fk_auth_user_id" FOREIGN KEY ("changed_by_id") REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE "records_routeversion" ADD CONSTRAINT "records_routeversion_route_id_521f9d1c_fk_records_route_id" FOREIGN KEY ("route_id") REFERENCES "records_route" ("id") DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE "records_routeversion" ADD CONSTRAINT "route_version_number" UNIQUE ("route_id", "number");
CREATE INDEX "records_routeversion_changed_by_id_b2905504" ON "records_routeversion" ("changed_by_id");
CREATE INDEX "records_routeversion_route_id_521f9d1c" ON "records_routeversion" ("route_id");

-- 0034_mcp_servers
CREATE TABLE "records_mcpserver" ("id" bigint NOT NULL PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, "name" varchar(40) NOT NULL UNIQUE, "command" varchar(1000) NOT NULL, "url" varchar(500) NOT NULL, "variables" varchar(500) NOT NULL, "credential" varchar(100) NOT NULL, "tools" varchar(1000) NOT NULL, "is_enabled" boolean NOT NULL);
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_mcpserver
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE INDEX "records_mcpserver_name_30839dd1_like" ON "records_mcpserver" ("name" varchar_pattern_ops);

-- 0035_media_blocks

-- 0036_archive
CREATE TABLE "records_archiveobject" ("id" uuid NOT NULL PRIMARY KEY, "key" text NOT NULL, "size" bigint NOT NULL, "made_at" timestamp with time zone NOT NULL, "is_stale" boolean NOT NULL);
CREATE TABLE "records_archivedpart" ("stream_id" uuid NOT NULL, "number" integer NOT NULL CHECK ("number" >= 0), "start" bigint NOT NULL, "size" integer NOT NULL CHECK ("size" >= 0), "first_seq" integer NOT NULL CHECK ("first_seq" >= 0), "end_seq" integer NOT NULL CHECK ("end_seq" >= 0), "first_frame" integer NOT NULL CHECK ("first_frame" >= 0), "end_frame" integer NOT NULL CHECK ("end_frame" >= 0), "chunks" integer NOT NULL CHECK ("chunks" >= 0), "payload_bytes" bigint NOT NULL, "is_whole" boolean NOT NULL, "object_id" uuid NOT NULL, PRIMARY KEY ("stream_id", "number"));
CREATE INDEX "archive_object_stale" ON "records_archiveobject" ("made_at") WHERE "is_stale";
ALTER TABLE "records_archivedpart" ADD CONSTRAINT "records_archivedpart_object_id_e4b6f8a7_fk_records_a" FOREIGN KEY ("object_id") REFERENCES "records_archiveobject" ("id") DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX "records_archivedpart_object_id_e4b6f8a7" ON "records_archivedpart" ("object_id");

-- 0037_days_of_streams
ALTER TABLE records_stream DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_stream ADD CONSTRAINT before_days CHECK (id < '01a271d9-5c00-0000-0000-000000000000') NOT VALID;
ALTER TABLE records_stream VALIDATE CONSTRAINT before_days;
ALTER TABLE records_block DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_block ADD CONSTRAINT before_days CHECK (stream_id < '01a271d9-5c00-0000-0000-000000000000') NOT VALID;
ALTER TABLE records_block VALIDATE CONSTRAINT before_days;
ALTER TABLE records_verdict DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_verdict ADD CONSTRAINT before_days CHECK (stream_id < '01a271d9-5c00-0000-0000-000000000000') NOT VALID;
ALTER TABLE records_verdict VALIDATE CONSTRAINT before_days;
ALTER TABLE records_requestwords DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_requestwords ADD CONSTRAINT before_days CHECK (stream_id < '01a271d9-5c00-0000-0000-000000000000') NOT VALID;
ALTER TABLE records_requestwords VALIDATE CONSTRAINT before_days;
ALTER TABLE records_lintnote DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_lintnote ADD CONSTRAINT before_days CHECK (stream_id < '01a271d9-5c00-0000-0000-000000000000') NOT VALID;
ALTER TABLE records_lintnote VALIDATE CONSTRAINT before_days;
ALTER TABLE records_stall DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_stall ADD CONSTRAINT before_days CHECK (stream_id < '01a271d9-5c00-0000-0000-000000000000') NOT VALID;
ALTER TABLE records_stall VALIDATE CONSTRAINT before_days;
ALTER TABLE records_stream DROP CONSTRAINT records_stream_key_id_54ed025c_fk_records_apikey_id;
ALTER TABLE records_stream DROP CONSTRAINT records_stream_session_id_bc98809d_fk_records_session_id;
ALTER TABLE records_block DROP CONSTRAINT records_block_stream_id_e2d4225f_fk_records_stream_id;
ALTER TABLE records_verdict DROP CONSTRAINT records_verdict_stream_id_7a6ca719_fk_records_stream_id;
ALTER TABLE records_annotation DROP CONSTRAINT annotation_of_stream;
ALTER TABLE records_requestwords DROP CONSTRAINT request_words_of_stream;
ALTER TABLE records_lintnote DROP CONSTRAINT lint_note_of_stream;
ALTER TABLE records_stall DROP CONSTRAINT stall_of_stream;
ALTER TABLE records_verdict DROP CONSTRAINT records_verdict_policy_version_id_784048b9_fk_records_p;
ALTER TABLE records_block DROP COLUMN id; ALTER TABLE records_verdict DROP COLUMN id;
DROP INDEX records_stream_session_id_bc98809d;
DROP INDEX records_verdict_policy_version_id_784048b9;
DROP FUNCTION streamviz_make_day(date);

CREATE FUNCTION streamviz_day_of(id uuid) RETURNS date LANGUAGE sql IMMUTABLE AS $$
    SELECT date(
        to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC'
    )
$$;

-- All but the default one, each with the first day in it and the first behind it.
CREATE FUNCTION streamviz_partitions(parent text) RETURNS TABLE (child text, first date, behind date)
LANGUAGE sql STABLE AS $$
    SELECT
        c.relname::text,
        coalesce(streamviz_day_of(substring(bound FROM 'FROM \(''([0-9a-f-]{36})''\)')::uuid), '-infinity'),
        streamviz_day_of(substring(bound FROM 'TO \(''([0-9a-f-]{36})''\)')::uuid)
    FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid, LATERAL pg_get_expr(c.relpartbound, c.oid) AS bound
    WHERE inhparent = parent::regclass AND bound <> 'DEFAULT'
$$;

-- The partition of a day, of so many days from a Monday on, as far as they have none yet. It is attached, as one that
-- is created in its place would lock all others. What is inserted into the default one meanwhile would be in the way,
-- so nothing is: attaching takes the same lock a moment later.
CREATE FUNCTION streamviz_make_partition(parent text, day date, days integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    rest text := parent || '_default';
    child text;
    since date;
    until date;
    lower uuid;
    upper uuid;
    key text;
    columns text;
BEGIN
    IF EXISTS (SELECT FROM streamviz_partitions(parent) AS p WHERE p.first <= day AND day < p.behind) THEN
        RETURN;
    END IF;
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', rest);
    -- Somebody else may have made it while this waited.
    IF EXISTS (SELECT FROM streamviz_partitions(parent) AS p WHERE p.first <= day AND day < p.behind) THEN
        RETURN;
    END IF;
    since := day - (day - date '2000-01-03') % days;
    SELECT
        greatest(since, max(p.behind) FILTER (WHERE p.behind <= day)),
        least(since + days, min(p.first) FILTER (WHERE p.first > day))
    INTO since, until FROM streamviz_partitions(parent) AS p;
    lower := streamviz_first_id(since::timestamp AT TIME ZONE 'UTC');
    upper := streamviz_first_id(until::timestamp AT TIME ZONE 'UTC');
    child := parent || to_char(since, '_YYYYMMDD');
    EXECUTE format(
        'CREATE TABLE %I (LIKE %I INCLUDING ALL) %s', child, parent,
        (SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class WHERE oid = rest::regclass)
    );
    SELECT attname INTO key FROM pg_partitioned_table
    JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0] WHERE partrelid = parent::regclass;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
    WHERE attrelid = parent::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    -- They are moved, and neither stored nor deleted.
    EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', rest);
    EXECUTE format(
        'WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *)'
        ' INSERT INTO %I (%s) SELECT %s FROM moved',
        rest, key, lower, key, upper, child, columns, columns
    );
    EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', rest);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, lower, upper);
END
$$;
DROP VIEW records_frame;
ALTER TABLE records_stream RENAME TO records_stream_past;
ALTER TABLE records_stream_past RENAME CONSTRAINT records_stream_pkey TO past_records_stream_pkey;
ALTER INDEX stream_asking RENAME TO past_stream_asking;
ALTER INDEX stream_by_mark RENAME TO past_stream_by_mark;
ALTER INDEX stream_in_session RENAME TO past_stream_in_session;
ALTER INDEX stream_newest RENAME TO past_stream_newest;
ALTER INDEX stream_not_run RENAME TO past_stream_not_run;
ALTER INDEX stream_of_key RENAME TO past_stream_of_key;
ALTER INDEX stream_of_model RENAME TO past_stream_of_model;
ALTER INDEX stream_of_parent RENAME TO past_stream_of_parent;
ALTER INDEX stream_open RENAME TO past_stream_open;
ALTER INDEX stream_sample RENAME TO past_stream_sample;
ALTER INDEX stream_that_failed RENAME TO past_stream_that_failed;
ALTER INDEX stream_with_error RENAME TO past_stream_with_error;
DROP TRIGGER streamviz_deleted ON records_stream_past;
DROP TRIGGER streamviz_stored ON records_stream_past;
DROP TRIGGER streamviz_ended ON records_stream_past;
CREATE TABLE records_stream (LIKE records_stream_past INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS) PARTITION BY RANGE (id);
CREATE TABLE records_stream_default PARTITION OF records_stream DEFAULT WITH (toast_tuple_target=512, fillfactor=90);
ALTER TABLE records_stream ADD CONSTRAINT records_stream_block_count_check CHECK ((block_count >= 0));
ALTER TABLE records_stream ADD CONSTRAINT records_stream_chunk_count_check CHECK ((chunk_count >= 0));
ALTER TABLE records_stream ADD CONSTRAINT records_stream_frame_count_check CHECK ((frame_count >= 0));
ALTER TABLE records_stream ADD CONSTRAINT records_stream_pkey PRIMARY KEY (id);
ALTER TABLE records_stream ADD CONSTRAINT records_stream_status_check CHECK ((status >= 0));
CREATE INDEX stream_asking ON public.records_stream USING gin (asked) WITH (fastupdate=off) WHERE (NOT (asked = '{}'::bigint[]));
CREATE INDEX stream_by_mark ON public.records_stream USING gin (marks) WITH (fastupdate=off) WHERE (NOT (marks = '{}'::bigint[]));
CREATE INDEX stream_in_session ON public.records_stream USING btree (session_id, requested_at);
CREATE INDEX stream_newest ON public.records_stream USING btree (requested_at DESC, id DESC) INCLUDE (outcome, requested_model, provider, key_id, session_id, input_tokens, output_tokens, cost, ended_at, cache_read_tokens, is_estimated);
CREATE INDEX stream_not_run ON public.records_stream USING btree (requested_at) WHERE (NOT (not_run = '[]'::jsonb));
CREATE INDEX stream_of_key ON public.records_stream USING btree (key_id, requested_at DESC, id DESC);
CREATE INDEX stream_of_model ON public.records_stream USING btree (requested_model, requested_at DESC, id DESC);
CREATE INDEX stream_of_parent ON public.records_stream USING btree (parent) WHERE (parent IS NOT NULL);
CREATE INDEX stream_open ON public.records_stream USING btree (requested_at) WHERE ((outcome)::text = ''::text);
CREATE INDEX stream_sample ON public.records_stream USING btree (requested_at) INCLUDE (id, requested_model, provider, key_id, session_id, outcome, output_tokens, upstream_first_at, client_first_at, ended_at, itl_p50_us) WHERE (get_byte(uuid_send(id), 15) < 16);
CREATE INDEX stream_that_failed ON public.records_stream USING btree (outcome, requested_at DESC, id DESC) WHERE (NOT ((outcome)::text = 'completed'::text));
CREATE INDEX stream_with_error ON public.records_stream USING btree (requested_at DESC, id DESC) INCLUDE (requested_model, key_id) WHERE (error <> ''::text);
CREATE TRIGGER streamviz_deleted AFTER DELETE ON public.records_stream FOR EACH ROW WHEN (((old.outcome)::text <> ''::text)) EXECUTE FUNCTION streamviz_add_up();
CREATE TRIGGER streamviz_stored AFTER INSERT ON public.records_stream FOR EACH ROW WHEN (((new.outcome)::text <> ''::text)) EXECUTE FUNCTION streamviz_add_up();
CREATE TRIGGER streamviz_ended AFTER UPDATE ON public.records_stream FOR EACH ROW WHEN (((((((((((old.requested_at IS DISTINCT FROM new.requested_at) OR (old.requested_model IS DISTINCT FROM new.requested_model)) OR ((old.provider)::text IS DISTINCT FROM (new.provider)::text)) OR (old.key_id IS DISTINCT FROM new.key_id)) OR ((old.outcome)::text IS DISTINCT FROM (new.outcome)::text)) OR (old.input_tokens IS DISTINCT FROM new.input_tokens)) OR (old.output_tokens IS DISTINCT FROM new.output_tokens)) OR (old.cost IS DISTINCT FROM new.cost)) OR (old.cache_read_tokens IS DISTINCT FROM new.cache_read_tokens)) OR (old.is_estimated IS DISTINCT FROM new.is_estimated))) EXECUTE FUNCTION streamviz_add_up();
ALTER TABLE records_stream ATTACH PARTITION records_stream_past FOR VALUES FROM (MINVALUE) TO ('01a271d9-5c00-0000-0000-000000000000');
ALTER TABLE records_stream_past DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_block RENAME TO records_block_past;
ALTER TABLE records_block_past RENAME CONSTRAINT block_ordinal TO past_block_ordinal;
ALTER INDEX block_held RENAME TO past_block_held;
ALTER INDEX block_of_tool RENAME TO past_block_of_tool;
ALTER INDEX block_search RENAME TO past_block_search;
CREATE TABLE records_block (LIKE records_block_past INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS) PARTITION BY RANGE (stream_id);
CREATE TABLE records_block_default PARTITION OF records_block DEFAULT;
ALTER TABLE records_block ADD CONSTRAINT block_ordinal UNIQUE (stream_id, ordinal);
ALTER TABLE records_block ADD CONSTRAINT records_block_choice_check CHECK ((choice >= 0));
ALTER TABLE records_block ADD CONSTRAINT records_block_first_seq_check CHECK ((first_seq >= 0));
ALTER TABLE records_block ADD CONSTRAINT records_block_index_check CHECK ((index >= 0));
ALTER TABLE records_block ADD CONSTRAINT records_block_last_seq_check CHECK ((last_seq >= 0));
ALTER TABLE records_block ADD CONSTRAINT records_block_length_check CHECK ((length >= 0));
ALTER TABLE records_block ADD CONSTRAINT records_block_ordinal_check CHECK ((ordinal >= 0));
CREATE INDEX block_held ON public.records_block USING btree (held_at) WHERE (held_at IS NOT NULL);
CREATE INDEX block_of_tool ON public.records_block USING btree (name, stream_id) WHERE ((kind)::text = 'tool_call'::text);
CREATE INDEX block_search ON public.records_block USING gin (search);
ALTER TABLE records_block ATTACH PARTITION records_block_past FOR VALUES FROM (MINVALUE) TO ('01a271d9-5c00-0000-0000-000000000000');
ALTER TABLE records_block_past DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_verdict RENAME TO records_verdict_past;
ALTER TABLE records_verdict_past RENAME CONSTRAINT verdict_number TO past_verdict_number;
ALTER INDEX verdict_at RENAME TO past_verdict_at;
ALTER INDEX verdict_newest RENAME TO past_verdict_newest;
ALTER INDEX verdict_that_intervened RENAME TO past_verdict_that_intervened;
CREATE TABLE records_verdict (LIKE records_verdict_past INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS) PARTITION BY RANGE (stream_id);
CREATE TABLE records_verdict_default PARTITION OF records_verdict DEFAULT;
ALTER TABLE records_verdict ADD CONSTRAINT records_verdict_client_had_check CHECK ((client_had >= 0));
ALTER TABLE records_verdict ADD CONSTRAINT records_verdict_number_check CHECK ((number >= 0));
ALTER TABLE records_verdict ADD CONSTRAINT records_verdict_ordinal_check CHECK ((ordinal >= 0));
ALTER TABLE records_verdict ADD CONSTRAINT verdict_number UNIQUE (stream_id, number);
CREATE INDEX verdict_at ON public.records_verdict USING btree (at);
CREATE INDEX verdict_newest ON public.records_verdict USING btree (policy_version_id, at DESC);
CREATE INDEX verdict_that_intervened ON public.records_verdict USING btree (stream_id) WHERE (((mode)::text = 'enforce'::text) AND (NOT ((decision)::text = 'allow'::text)));
ALTER TABLE records_verdict ATTACH PARTITION records_verdict_past FOR VALUES FROM (MINVALUE) TO ('01a271d9-5c00-0000-0000-000000000000');
ALTER TABLE records_verdict_past DROP CONSTRAINT IF EXISTS before_days;
ALTER TABLE records_requestwords RENAME TO records_requestwords_past;
ALTER TABLE records_requestwords_past RENAME CONSTRAINT records_requestwords_pkey TO past_records_requestwords_pkey;
ALTER INDEX request_words_of_session RENAME TO past_request_words_of_session;
ALTER INDEX request_words_search RENAME TO past_request_words_search;
CREATE TABLE records_requestwords (LIKE records_requestwords_past INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS) PARTITION BY RANGE (stream_id);
CREATE TABLE records_requestwords_default PARTITION OF records_requestwords DEFAULT;
ALTER TABLE records_requestwords ADD CONSTRAINT records_requestwords_pkey PRIMARY KEY (stream_id);
CREATE INDEX request_words_of_session ON public.records_requestwords USING btree (session_id, standing);
CREATE INDEX request_words_search ON public.records_requestwords USING gin (search);
DROP TABLE records_requestwords_past;
ALTER TABLE records_lintnote RENAME TO records_lintnote_past;
ALTER TABLE records_lintnote_past RENAME CONSTRAINT records_lintnote_pkey TO past_records_lintnote_pkey;
ALTER INDEX lint_note_at RENAME TO past_lint_note_at;
CREATE TABLE records_lintnote (LIKE records_lintnote_past INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS) PARTITION BY RANGE (stream_id);
CREATE TABLE records_lintnote_default PARTITION OF records_lintnote DEFAULT;
ALTER TABLE records_lintnote ADD CONSTRAINT records_lintnote_pkey PRIMARY KEY (stream_id, rule);
ALTER TABLE records_lintnote ADD CONSTRAINT records_lintnote_seq_check CHECK ((seq >= 0));
ALTER TABLE records_lintnote ADD CONSTRAINT records_lintnote_times_check CHECK ((times >= 0));
CREATE INDEX lint_note_at ON public.records_lintnote USING btree (at) INCLUDE (provider, model, rule, times);
DROP TABLE records_lintnote_past;
ALTER TABLE records_stall RENAME TO records_stall_past;
ALTER TABLE records_stall_past RENAME CONSTRAINT records_stall_pkey TO past_records_stall_pkey;
ALTER INDEX stall_at RENAME TO past_stall_at;
CREATE TABLE records_stall (LIKE records_stall_past INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS) PARTITION BY RANGE (stream_id);
CREATE TABLE records_stall_default PARTITION OF records_stall DEFAULT;
ALTER TABLE records_stall ADD CONSTRAINT records_stall_pkey PRIMARY KEY (stream_id, cause);
ALTER TABLE records_stall ADD CONSTRAINT records_stall_times_check CHECK ((times >= 0));
CREATE INDEX stall_at ON public.records_stall USING btree (at) INCLUDE (cause, times, stream_id);
DROP TABLE records_stall_past;
CREATE VIEW records_frame AS  SELECT run.stream_id,
    ((run.first_frame + item.n) - 1) AS number,
    ('1970-01-01 00:00:00+00'::timestamp with time zone + (((run.first_at + item.later))::double precision * '00:00:00.000001'::interval)) AS sent_at,
    ((run.first_seq + item.n) - 1) AS seq,
        CASE
            WHEN (run.first_seq IS NULL) THEN run.origin
            ELSE 'upstream'::text
        END AS origin,
        CASE
            WHEN (run.first_seq IS NULL) THEN SUBSTRING(whole.payload FROM (((item.ends - item.length) + 1))::integer FOR item.length)
            WHEN ( SELECT records_stream.hides_usage
               FROM records_stream
              WHERE (records_stream.id = run.stream_id)) THEN streamviz_without_usage(streamviz_chunk(run.stream_id, (((run.first_seq + item.n) - 1))::integer))
            ELSE NULL::bytea
        END AS made
   FROM ((records_clientrun run
     CROSS JOIN LATERAL ( SELECT (run.payload || '\x'::bytea) AS payload
         OFFSET 0) whole)
     CROSS JOIN LATERAL ( SELECT each.n,
            each.later,
            each.length,
            sum(each.length) OVER (ORDER BY each.n) AS ends
           FROM UNNEST(run.offsets, run.lengths) WITH ORDINALITY each(later, length, n)) item);

-- 0038_dated_sessions
ALTER TABLE "records_session" ADD COLUMN "is_dated" boolean DEFAULT true NOT NULL;

-- 0039_archived_length
ALTER TABLE "records_archivedpart" ADD COLUMN "length" bigint DEFAULT 0 NOT NULL CHECK ("length" >= 0);

-- 0040_undated_sessions
UPDATE records_session SET is_dated = false WHERE id IN (
    SELECT session_id FROM records_stream
    WHERE id < streamviz_first_id(requested_at - interval '1 day')
        OR id >= streamviz_first_id(requested_at + interval '1 day')
);

-- 0041_key_owner
ALTER TABLE "records_apikey" ADD COLUMN "owner" varchar(100) DEFAULT '' NOT NULL;
UPDATE records_apikey SET owner = name;

-- 0042_policy_samples
CREATE INDEX IF NOT EXISTS verdict_sample ON ONLY records_verdict ((get_byte(uuid_send(stream_id), 15)), at) WHERE get_byte(uuid_send(stream_id), 15) < 64;
DROP INDEX IF EXISTS verdict_sample_records_verdict_default;
CREATE INDEX verdict_sample_records_verdict_default ON records_verdict_default ((get_byte(uuid_send(stream_id), 15)), at) WHERE get_byte(uuid_send(stream_id), 15) < 64;
ALTER INDEX verdict_sample ATTACH PARTITION verdict_sample_records_verdict_default;
DROP INDEX IF EXISTS verdict_sample_records_verdict_past;
CREATE INDEX verdict_sample_records_verdict_past ON records_verdict_past ((get_byte(uuid_send(stream_id), 15)), at) WHERE get_byte(uuid_send(stream_id), 15) < 64;
ALTER INDEX verdict_sample ATTACH PARTITION verdict_sample_records_verdict_past;
CREATE INDEX IF NOT EXISTS held_sample ON ONLY records_block ((get_byte(uuid_send(stream_id), 15)), held_at) WHERE held_at IS NOT NULL AND get_byte(uuid_send(stream_id), 15) < 64;
DROP INDEX IF EXISTS held_sample_records_block_default;
CREATE INDEX held_sample_records_block_default ON records_block_default ((get_byte(uuid_send(stream_id), 15)), held_at) WHERE held_at IS NOT NULL AND get_byte(uuid_send(stream_id), 15) < 64;
ALTER INDEX held_sample ATTACH PARTITION held_sample_records_block_default;
DROP INDEX IF EXISTS held_sample_records_block_past;
CREATE INDEX held_sample_records_block_past ON records_block_past ((get_byte(uuid_send(stream_id), 15)), held_at) WHERE held_at IS NOT NULL AND get_byte(uuid_send(stream_id), 15) < 64;
ALTER INDEX held_sample ATTACH PARTITION held_sample_records_block_past;

-- 0043_stream_sampled
CREATE INDEX IF NOT EXISTS stream_sampled ON ONLY records_stream (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16;
DROP INDEX IF EXISTS stream_sampled_records_stream_default;
CREATE INDEX stream_sampled_records_stream_default ON records_stream_default (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16;
ALTER INDEX stream_sampled ATTACH PARTITION stream_sampled_records_stream_default;
DROP INDEX IF EXISTS stream_sampled_records_stream_past;
CREATE INDEX stream_sampled_records_stream_past ON records_stream_past (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 16;
ALTER INDEX stream_sampled ATTACH PARTITION stream_sampled_records_stream_past;
CREATE INDEX IF NOT EXISTS stream_sampled_less ON ONLY records_stream (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 1;
DROP INDEX IF EXISTS stream_sampled_less_records_stream_default;
CREATE INDEX stream_sampled_less_records_stream_default ON records_stream_default (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 1;
ALTER INDEX stream_sampled_less ATTACH PARTITION stream_sampled_less_records_stream_default;
DROP INDEX IF EXISTS stream_sampled_less_records_stream_past;
CREATE INDEX stream_sampled_less_records_stream_past ON records_stream_past (requested_at) INCLUDE (
    id, requested_model, provider, key_id, session_id, outcome, input_tokens, output_tokens, cache_read_tokens,
    cost, is_estimated, upstream_first_at, client_first_at, ended_at, itl_p50_us
) WHERE get_byte(uuid_send(id), 15) < 1;
ALTER INDEX stream_sampled_less ATTACH PARTITION stream_sampled_less_records_stream_past;
DROP INDEX IF EXISTS stream_sample;
CREATE INDEX IF NOT EXISTS stream_costly ON ONLY records_stream (cost, requested_at) WHERE cost >= 0.05;
DROP INDEX IF EXISTS stream_costly_records_stream_default;
CREATE INDEX stream_costly_records_stream_default ON records_stream_default (cost, requested_at) WHERE cost >= 0.05;
ALTER INDEX stream_costly ATTACH PARTITION stream_costly_records_stream_default;
DROP INDEX IF EXISTS stream_costly_records_stream_past;
CREATE INDEX stream_costly_records_stream_past ON records_stream_past (cost, requested_at) WHERE cost >= 0.05;
ALTER INDEX stream_costly ATTACH PARTITION stream_costly_records_stream_past;

-- 0044_session_beginnings
DROP INDEX IF EXISTS session_of_label;
DROP INDEX IF EXISTS session_of_name;
DROP INDEX IF EXISTS session_undated;
CREATE INDEX "session_of_label" ON "records_session" ((LEFT("label", 100))) WHERE NOT ("label" = '');
CREATE INDEX "session_of_name" ON "records_session" ((LEFT("name", 100))) WHERE NOT ("name" = '');
CREATE INDEX "session_undated" ON "records_session" ("id") WHERE NOT "is_dated";
DROP INDEX IF EXISTS "session_label";
DROP INDEX IF EXISTS "session_name";

-- 0045_unusual_ends
CREATE INDEX IF NOT EXISTS stream_unusual_end ON ONLY records_stream (requested_at DESC, id DESC) WHERE NOT finish_reason IN ('', 'stop', 'end_turn', 'tool_calls', 'tool_use', 'completed', 'STOP');
DROP INDEX IF EXISTS stream_unusual_end_records_stream_default;
CREATE INDEX stream_unusual_end_records_stream_default ON records_stream_default (requested_at DESC, id DESC) WHERE NOT finish_reason IN ('', 'stop', 'end_turn', 'tool_calls', 'tool_use', 'completed', 'STOP');
ALTER INDEX stream_unusual_end ATTACH PARTITION stream_unusual_end_records_stream_default;
DROP INDEX IF EXISTS stream_unusual_end_records_stream_past;
CREATE INDEX stream_unusual_end_records_stream_past ON records_stream_past (requested_at DESC, id DESC) WHERE NOT finish_reason IN ('', 'stop', 'end_turn', 'tool_calls', 'tool_use', 'completed', 'STOP');
ALTER INDEX stream_unusual_end ATTACH PARTITION stream_unusual_end_records_stream_past;

-- 0046_deleted_sessions
CREATE TABLE "records_deletedsession" ("session_id" uuid NOT NULL PRIMARY KEY, "deleted_at" timestamp with time zone NOT NULL);

-- 0047_session_age
CREATE OR REPLACE FUNCTION streamviz_reserve(
    of_session uuid, of_stream uuid, of_worker uuid, most_tokens bigint, most_cost double precision, of_period text
) RETURNS TABLE (
    began_at bigint, streams bigint, blocks bigint, tool_calls bigint, output_tokens bigint, cost double precision,
    is_estimate boolean, unpriced bigint, running bigint, reserved_tokens bigint, reserved_cost double precision,
    unbounded bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    IF NOT FOUND THEN
        -- What the record has of the session from before it was counted.
        INSERT INTO records_sessiontally
        SELECT of_session, coalesce(min(stream.requested_at), to_timestamp(
            ('x' || left(replace(of_stream::text, '-', ''), 12))::bit(48)::bigint / 1000.0
        )), now(), count(*),
            coalesce(sum(stream.block_count), 0), coalesce(sum(told.calls), 0),
            coalesce(sum(coalesce(stream.output_tokens, told.length / 4)), 0), coalesce(sum(stream.cost), 0),
            coalesce(bool_or(stream.output_tokens IS NULL AND stream.block_count > 0), false), 0
        FROM records_stream AS stream CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE kind = 'tool_call') AS calls, coalesce(sum(length), 0) AS length
            FROM records_block WHERE stream_id = stream.id
        ) AS told
        WHERE stream.session_id = of_session AND stream.outcome <> ''
        ON CONFLICT DO NOTHING;
        PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    END IF;
    -- Streams of workers that are gone came to what the record says, or to what was reserved where it says nothing.
    WITH gone AS (
        DELETE FROM records_reservation
        WHERE session_id = of_session AND seen_at < now() - interval '2 minutes' RETURNING *
    ), told AS (
        SELECT count(*) AS streams, coalesce(sum(stream.block_count), 0) AS blocks,
            coalesce(sum((
                SELECT count(*) FROM records_block WHERE stream_id = gone.stream_id AND kind = 'tool_call'
            )), 0) AS calls,
            coalesce(sum(coalesce(stream.output_tokens, gone.output_tokens, 0)), 0) AS output_tokens,
            coalesce(sum(coalesce(stream.cost::double precision, gone.cost, 0)), 0) AS cost
        FROM gone LEFT JOIN records_stream AS stream ON stream.id = gone.stream_id
    )
    UPDATE records_sessiontally AS tally SET streams = tally.streams + told.streams,
        blocks = tally.blocks + told.blocks, tool_calls = tally.tool_calls + told.calls,
        output_tokens = tally.output_tokens + told.output_tokens, cost = tally.cost + told.cost,
        is_estimate = true, touched_at = now()
    FROM told WHERE tally.session_id = of_session AND told.streams > 0;
    RETURN QUERY SELECT (extract(epoch FROM tally.began_at) * 1000000)::bigint, tally.streams, tally.blocks,
        tally.tool_calls, tally.output_tokens, tally.cost, tally.is_estimate, tally.unpriced, count(other.stream_id),
        coalesce(sum(other.output_tokens), 0)::bigint, coalesce(sum(other.cost), 0),
        count(other.stream_id) FILTER (WHERE other.output_tokens IS NULL)
    FROM records_sessiontally AS tally LEFT JOIN records_reservation AS other
        ON other.session_id = tally.session_id AND other.stream_id <> of_stream
    WHERE tally.session_id = of_session GROUP BY tally.session_id;
    INSERT INTO records_reservation (stream_id, period, session_id, worker, seen_at, output_tokens, cost)
    VALUES (of_stream, of_period, of_session, of_worker, now(), most_tokens, most_cost)
    ON CONFLICT (stream_id, period) DO UPDATE SET output_tokens = most_tokens, cost = most_cost;
END $$;

-- 0048_deciders
CREATE TRIGGER streamviz_changed AFTER DELETE OR UPDATE OF username, is_active, is_superuser ON auth_user
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_user_groups
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_user_user_permissions
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_group_permissions
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();

-- 0049_denied_requests
CREATE OR REPLACE FUNCTION streamviz_reserve(
    of_session uuid, of_stream uuid, of_worker uuid, most_tokens bigint, most_cost double precision, of_period text
) RETURNS TABLE (
    began_at bigint, streams bigint, blocks bigint, tool_calls bigint, output_tokens bigint, cost double precision,
    is_estimate boolean, unpriced bigint, running bigint, reserved_tokens bigint, reserved_cost double precision,
    unbounded bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    IF NOT FOUND THEN
        -- What the record has of the session from before it was counted.
        INSERT INTO records_sessiontally
        SELECT of_session, coalesce(min(stream.requested_at), to_timestamp(
            ('x' || left(replace(of_stream::text, '-', ''), 12))::bit(48)::bigint / 1000.0
        )), now(), count(*) FILTER (WHERE stream.outcome <> 'halted' OR stream.chunk_count > 0),
            coalesce(sum(stream.block_count), 0), coalesce(sum(told.calls), 0),
            coalesce(sum(coalesce(stream.output_tokens, told.length / 4)), 0), coalesce(sum(stream.cost), 0),
            coalesce(bool_or(stream.output_tokens IS NULL AND stream.block_count > 0), false), 0
        FROM records_stream AS stream CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE kind = 'tool_call') AS calls, coalesce(sum(length), 0) AS length
            FROM records_block WHERE stream_id = stream.id
        ) AS told
        WHERE stream.session_id = of_session AND stream.outcome <> ''
        ON CONFLICT DO NOTHING;
        PERFORM FROM records_sessiontally WHERE session_id = of_session FOR UPDATE;
    END IF;
    -- Streams of workers that are gone came to what the record says, or to what was reserved where it says nothing.
    WITH gone AS (
        DELETE FROM records_reservation
        WHERE session_id = of_session AND seen_at < now() - interval '2 minutes' RETURNING *
    ), told AS (
        SELECT count(*) AS reserved,
            count(*) FILTER (WHERE stream.outcome = 'halted' AND stream.chunk_count = 0) AS denied,
            coalesce(sum(stream.block_count), 0) AS blocks,
            coalesce(sum((
                SELECT count(*) FROM records_block WHERE stream_id = gone.stream_id AND kind = 'tool_call'
            )), 0) AS calls,
            coalesce(sum(coalesce(stream.output_tokens, gone.output_tokens, 0)), 0) AS output_tokens,
            coalesce(sum(coalesce(stream.cost::double precision, gone.cost, 0)), 0) AS cost
        FROM gone LEFT JOIN records_stream AS stream ON stream.id = gone.stream_id
    )
    UPDATE records_sessiontally AS tally SET streams = tally.streams + told.reserved - told.denied,
        blocks = tally.blocks + told.blocks, tool_calls = tally.tool_calls + told.calls,
        output_tokens = tally.output_tokens + told.output_tokens, cost = tally.cost + told.cost,
        is_estimate = true, touched_at = now()
    FROM told WHERE tally.session_id = of_session AND told.reserved > told.denied;
    RETURN QUERY SELECT (extract(epoch FROM tally.began_at) * 1000000)::bigint, tally.streams, tally.blocks,
        tally.tool_calls, tally.output_tokens, tally.cost, tally.is_estimate, tally.unpriced, count(other.stream_id),
        coalesce(sum(other.output_tokens), 0)::bigint, coalesce(sum(other.cost), 0),
        count(other.stream_id) FILTER (WHERE other.output_tokens IS NULL)
    FROM records_sessiontally AS tally LEFT JOIN records_reservation AS other
        ON other.session_id = tally.session_id AND other.stream_id <> of_stream
    WHERE tally.session_id = of_session GROUP BY tally.session_id;
    INSERT INTO records_reservation (stream_id, period, session_id, worker, seen_at, output_tokens, cost)
    VALUES (of_stream, of_period, of_session, of_worker, now(), most_tokens, most_cost)
    ON CONFLICT (stream_id, period) DO UPDATE SET output_tokens = most_tokens, cost = most_cost;
END $$;
