"""Partitions by the time in the ids of streams, which begin with it (UUIDv7): what is over is dropped whole."""

from typing import Any

from django.db import migrations

FIRST_ID = """
CREATE FUNCTION streamviz_first_id(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
"""
FUNCTIONS = r"""
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
"""


class CreatePartitioned(migrations.CreateModel):
    """A table in partitions by `key`, of which it has one for all that has no other. Django knows no partitions."""

    def __init__(self, key: str, **given: Any) -> None:
        super().__init__(**given)
        self.key = key

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        plain = schema_editor.sql_create_table
        schema_editor.sql_create_table = f"{plain} PARTITION BY RANGE ({self.key})"
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        schema_editor.sql_create_table = plain
        table = to_state.apps.get_model(app_label, self.name)._meta.db_table
        schema_editor.execute(f"CREATE TABLE {table}_default PARTITION OF {table} DEFAULT")
