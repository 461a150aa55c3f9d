"""A day's partition can be made when rows of that day are in the default one already: they are moved."""

from django.db import migrations

# Attached, as a partition that is created in its place would lock all others. What is inserted into the default one
# meanwhile would be in the way, so nothing is: attaching takes the same lock a moment later.
MAKE_DAY = """
CREATE OR REPLACE FUNCTION streamviz_make_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    child text;
    first uuid := streamviz_first_id(day::timestamp AT TIME ZONE 'UTC');
    behind uuid := streamviz_first_id((day + 1)::timestamp AT TIME ZONE 'UTC');
BEGIN
    FOREACH parent IN ARRAY ARRAY['records_upstreamrun', 'records_clientrun'] LOOP
        child := parent || to_char(day, '_YYYYMMDD');
        CONTINUE WHEN to_regclass(child) IS NOT NULL;
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent || '_default');
        -- Somebody else may have made it while this waited.
        CONTINUE WHEN to_regclass(child) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) WITH (toast_tuple_target = 128)', child, parent);
        EXECUTE format(
            'WITH moved AS (DELETE FROM %I WHERE stream_id >= %L AND stream_id < %L RETURNING *)'
            ' INSERT INTO %I SELECT * FROM moved',
            parent || '_default',
            first,
            behind,
            child
        );
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, first, behind);
    END LOOP;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0011_half_hours")]

    operations = [migrations.RunSQL(MAKE_DAY, migrations.RunSQL.noop)]
