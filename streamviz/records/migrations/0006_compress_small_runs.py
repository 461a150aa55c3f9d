"""Runs below 2 kB are compressed too, and none is moved to a table of its own."""

from django.db import migrations

STORAGE = """
ALTER TABLE records_upstreamrun
    ALTER COLUMN payload SET STORAGE MAIN,
    ALTER COLUMN offsets SET STORAGE MAIN,
    ALTER COLUMN lengths SET STORAGE MAIN;
ALTER TABLE records_clientrun
    ALTER COLUMN payload SET STORAGE MAIN,
    ALTER COLUMN offsets SET STORAGE MAIN,
    ALTER COLUMN lengths SET STORAGE MAIN;
ALTER TABLE records_upstreamrun_default SET (toast_tuple_target = 128);
ALTER TABLE records_clientrun_default SET (toast_tuple_target = 128);

CREATE OR REPLACE FUNCTION streamviz_make_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    child text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['records_upstreamrun', 'records_clientrun'] LOOP
        child := parent || to_char(day, '_YYYYMMDD');
        IF to_regclass(child) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) WITH (toast_tuple_target = 128)',
                child,
                parent,
                streamviz_first_id(day::timestamp AT TIME ZONE 'UTC'),
                streamviz_first_id((day + 1)::timestamp AT TIME ZONE 'UTC')
            );
        END IF;
    END LOOP;
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0005_runs_by_day")]

    operations = [migrations.RunSQL(STORAGE, migrations.RunSQL.noop)]
